"""A search that was run, drawn and put into a table; and the same in a notebook that was saved."""

import json
import math
from pathlib import Path

import nbclient
import nbformat
import pytest
from tests.api.drawing.nodes import Seen
from tests.search.conftest import SCORE, Halves

import budwood

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

OPTIONS = {"prompt": "Raise the numbers.", "n": 3, "agents": ["lefty", "righty", "broken"], "synthesise": "union"}


@pytest.fixture
def place(halves: Halves, monkeypatch: pytest.MonkeyPatch) -> Halves:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, halves.env[name])
    halves.setter("lefty", "left", 5)
    halves.setter("righty", "right", 3)
    halves.setter("broken", "left", 9, fails=True)
    return halves


def test_a_search_is_drawn_with_its_scores_and_decisions_and_is_a_table(place: Halves) -> None:
    run = budwood.start(name="try", strategy="best-of", options=OPTIONS, score=SCORE, directory=place.root)
    run.wait(90)
    best = run.best
    assert best is not None
    tree = Seen(run.tree())
    assert run.tree().text == "Tree of run try (best-of): 5 tasks, best union-1-2 with score 8"
    assert {"root 2", "try-1 6", "try-2 4", "try-3", "union-1-2 8", "best", "kept", "failed"} <= set(tree.texts)
    scores = run.scores()
    assert scores.text == "Scores of run try: 4 candidates, best score 8, the root has 2"
    timeline = Seen(run.timeline())
    assert {title.partition(",")[0] for title in timeline.titles} == {"root", "try-1", "try-2", "try-3", "union-1-2"}
    frame = run.to_pandas().set_index("id")
    assert frame["score"].dropna().to_dict() == {"root": 2.0, "try-1": 6.0, "try-2": 4.0, "union-1-2": 8.0}
    assert frame["metric.score"].dropna().to_dict() == frame["score"].dropna().to_dict()
    assert math.isnan(frame["score"]["try-3"])
    assert frame["valid"].dropna().tolist() == [True] * 4
    assert frame["decision"].to_dict() | {"root": ""} == {
        "root": "",
        "try-1": "kept",
        "try-2": "kept",
        "try-3": frame["decision"]["try-3"],
        "union-1-2": "chosen",
    }
    assert (frame["parents"]["union-1-2"], frame["depth"]["union-1-2"]) == (("try-1", "try-2"), 1)
    assert budwood.open_run(run.name, directory=place.root).tree() == run.tree()


def test_a_notebook_that_is_saved_keeps_the_drawings(place: Halves, tmp_path: Path) -> None:
    cells = [
        f"import budwood\nrun = budwood.start(strategy='best-of', options={OPTIONS!r}, score={SCORE!r})\n"
        "verdict = await run\nrun.tree()",
        "run.scores()",
        "run.timeline()",
        "run.to_pandas()",
        "print(run.best.task, sorted(run.best.files()))",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    resources = {"metadata": {"path": str(place.root)}}
    Path(place.env["HOME"]).mkdir(exist_ok=True)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute(env=place.env)
    path = tmp_path / "search.ipynb"
    nbformat.write(notebook, path)
    saved = [
        [output.get("data", {}) | {"text": output.get("text")} for output in cell["outputs"]]
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    ]
    for [shown], said in zip(saved[:3], ("Tree of run", "Scores of run", "Attempts of run"), strict=True):
        svg = "".join(shown["image/svg+xml"])
        assert said in svg
        assert "<script" not in svg
        assert svg.replace('xmlns="http://www.w3.org/2000/svg"', "").count("http") == 0
        assert "".join(shown["text/plain"]).startswith(f"<{said}")
    assert "union-1-2" in "".join(saved[3][0]["text/html"])
    assert "".join(saved[4][0]["text"]) == "union-1-2 ['left.txt', 'right.txt']\n"
