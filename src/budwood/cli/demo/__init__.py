"""The demonstration: a run is killed in the middle, goes on, and nothing is lost. `stage` plays, `proof` checks."""
