"""Examples in Python run and end as their headers say; the tutorial's cells run in a real kernel."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api.kernel import Notebook, notebook_in
from tests.docs.pages import ROOT, Shell, samples
from tests.docs.test_samples import try_sample

EXAMPLES = [ROOT / "examples/functions.py", ROOT / "examples/own_strategy.py"]
TUTORIAL = (ROOT / "docs/tutorial/python.md").read_text(encoding="utf-8")
IN_A_NOTEBOOK = (ROOT / "docs/how-to/notebook.md").read_text(encoding="utf-8")
STRATEGY = (ROOT / "docs/tutorial/own-strategy.md").read_text(encoding="utf-8")


def run(example: Path, project: Path) -> subprocess.CompletedProcess[str]:
    (project / example.name).write_bytes(example.read_bytes())
    command = [sys.executable, example.name]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "budwood.toml").touch()
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_ends_as_its_header_says_however_often_it_is_started(example: Path, project: Path) -> None:
    expected = example.read_text(encoding="utf-8").partition("Expect: ")[2].partition('"""')[0]
    counts = re.findall(r"\d+ (?:done|failed|skipped)", expected)
    assert "exit code 0" in expected
    assert counts
    outputs = []
    for _ in range(2):
        ran = run(example, project)
        assert ran.returncode == 0, ran.stderr
        assert [count for count in counts if count not in ran.stdout] == []
        outputs.append(ran.stdout)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_says_how_to_run_it(example: Path) -> None:
    assert f"    python examples/{example.name}\n" in example.read_text(encoding="utf-8")


def test_the_strategy_of_the_tutorial_is_a_class_of_thirty_lines_at_most() -> None:
    code = next(sample.text for sample in samples(STRATEGY) if sample.file_name == "climb.py")
    body = code.partition("class HillClimb")[2].partition("\n\n\n")[0]
    assert body.count("\n") < 30


@pytest.fixture
def notebook(project: Path) -> Iterator[Notebook]:
    with notebook_in(project, home=project) as made:
        yield made


@pytest.mark.slow
def test_the_cells_of_the_tutorial_run(notebook: Notebook) -> None:
    text = TUTORIAL.partition("\n## In a notebook\n")[2]
    cells = [sample.text for sample in samples(text) if sample.language == "python"]
    assert len(cells) == 3
    left = [notebook.run(cell) for cell in cells]
    assert [cell.error for cell in left] == ["", "", ""]
    assert left[1].shown
    assert left[2].value == "420.0"


@pytest.mark.slow
def test_the_cells_of_looking_at_a_search_run(tmp_path: Path) -> None:
    with Shell(tmp_path, {}) as shell:
        wrong = [try_sample(sample, shell) for sample in samples(IN_A_NOTEBOOK) if sample.language != "python"]
    assert not any(wrong)
    cells = [sample.text for sample in samples(IN_A_NOTEBOOK) if sample.language == "python"]
    with notebook_in(tmp_path / "handbook", home=tmp_path) as notebook:
        left = [notebook.run(cell) for cell in cells]
    assert [cell.error for cell in left] == [""] * 6
    assert left[1].value == "<Tree of run words (best-of): 4 tasks, best union-1-2 with score 9>"
    assert left[2].value == "<Scores of run words: 4 candidates, best score 9, the root has 14>"
    assert left[3].value.startswith("<Attempts of run words: 4 in ")
    assert left[4].value.splitlines()[1].split()[1:4] == ["union-1-2", "9.0", "chosen"]
    assert left[5].text.startswith("union-1-2 9.0 ['intro.md', 'usage.md']\ndiff --git a/intro.md b/intro.md\n")
