"""The pure heart: model, events, the state machine, replay, graph, ids, seeds, keys.

Knows nothing but itself, `budwood.errors` and msgspec. Must not do I/O, read a clock, draw a random number or know
asyncio.
"""
