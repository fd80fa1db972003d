//! The native card-game simulator, seen from Python as `budwood._cards`.
//!
//! This file knows Python; the simulator beside it must not.

use pyo3::prelude::*;

/// Return the version of this extension, which is that of the Python package it was built with.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pymodule]
fn _cards(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)
}
