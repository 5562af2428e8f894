"""What is loaded is what was checked: damaged weights, files that change in between, and the name of an archive's member."""

from __future__ import annotations

import io
import json
import re
import struct
import warnings
import zipfile
from pathlib import Path
from random import Random

import numpy as np
import pytest
import rxlang as rx
from rxlang.cli.main import invoke
from rxlang.interp.files import load_array
from rxlang.lang.stored import BadWeights
from rxlang.lang.weights import read_header
from support import fuzz
from support.cases import WRONG

from tests.support.damaged_files import damaged

CASES = WRONG / "damaged"
# What Python says of an object that has no text of its own.
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}|object at")


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # noqa: ANN201
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = invoke(list(arguments))
        return status, *capsys.readouterr()

    return run


def load_of(name: str, key: str | None) -> str:
    return f'load("{name}")' if key is None else f'load("{name}", {json.dumps(key)})'


def test_a_damaged_file_is_e245_or_runs_and_says_the_same_each_time(command) -> None:  # noqa: ANN001
    ran, refused = 0, 0
    for case in fuzz.cases("damaged weights"):
        with case as seed:
            suffix, key, data = damaged(Random(seed))
            Path(f"w{suffix}").write_bytes(data)
            Path("p.rx").write_text(f"const w = {load_of(f'w{suffix}', key)}\nlet a = w\n")
            checked, done = command("check", "p.rx"), command("run", "p.rx")
            assert (checked, done) == (command("check", "p.rx"), command("run", "p.rx"))
            said = "".join((*checked[1:], *done[1:]))
            assert not _ADDRESS.search(said), said
            assert all(letter.isprintable() or letter == "\n" for letter in said), said
            assert set(re.findall(r"error\[(\w+)\]", said)) <= {"E245"}, said
            assert "Traceback" not in said
            if done[0] == 0:
                assert checked[0] == 0 and agrees(Path(f"w{suffix}"), key)
                ran += 1
            else:
                assert done[0] in (1, 2) and "E245" in done[2], done
                refused += 1
    assert ran and refused > fuzz.tries("damaged weights") // 4, (ran, refused)


def agrees(path: Path, key: str | None) -> bool:
    """Whether the header, the array and, where it reads the file, NumPy agree."""
    header, array = read_header(path, key), load_array(path, key)
    if array.shape != header.shape:
        return False
    theirs = _by_numpy(path, key)
    if theirs is None:
        return True
    theirs = theirs.astype(theirs.dtype.newbyteorder("="))
    same = array.astype(theirs.dtype) if theirs.dtype.kind == "U" else array
    return array.shape == theirs.shape and (
        theirs.dtype.kind == "b" or np.asarray(same).tobytes() == theirs.astype(same.dtype).tobytes()
    )


def _by_numpy(path: Path, key: str | None) -> np.ndarray | None:
    try:
        with warnings.catch_warnings(), path.open("rb") as file:
            warnings.simplefilter("ignore")
            if path.suffix == ".npy":
                return np.lib.format.read_array(file, allow_pickle=False)
            if path.suffix == ".npz":
                archive = zipfile.ZipFile(file)
                name = f"{key}.npy" if key else next(n for n in archive.namelist() if n.endswith(".npy"))
                return np.lib.format.read_array(archive.open(name), allow_pickle=False)
    except Exception:  # noqa: BLE001 - what NumPy refuses says nothing of ours
        return None
    return None


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array)
    return buffer.getvalue()


def safetensors(array: np.ndarray, dtype: str) -> bytes:
    entry = {"w": {"dtype": dtype, "shape": list(array.shape), "data_offsets": [0, array.nbytes]}}
    header = json.dumps(entry).encode()
    return struct.pack("<Q", len(header)) + header + array.tobytes()


def archive(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as made:
        warnings.simplefilter("ignore")
        for name, data in members:
            made.writestr(name, data)
    return buffer.getvalue()


def written(suffix: str, array: np.ndarray) -> bytes:
    if suffix == ".safetensors":
        return safetensors(array, {"float32": "F32", "float64": "F64", "int64": "I64"}[array.dtype.name])
    return npy(array) if suffix == ".npy" else archive(("w.npy", npy(array)))


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
@pytest.mark.parametrize("other", [np.zeros((2, 5), np.int64), np.zeros(3, np.float64), np.zeros(4, np.float32)])
def test_a_file_that_changes_after_it_was_checked_is_refused(tmp_path: Path, suffix: str, other: np.ndarray) -> None:
    from rxlang import pipeline
    from rxlang.interp.run import Machine
    from rxlang.lang.diagnostics import RxError
    from rxlang.lang.files import Files

    path = tmp_path / f"w{suffix}"
    path.write_bytes(written(suffix, np.zeros(3, np.float32)))
    text = f"const w : Tensor([3], float32) = {load_of(path.name, None if suffix == '.npy' else 'w')}\nlet a = w\n"
    report = pipeline.check_text(text, "p.rx", tmp_path)
    assert report.ok and report.checked is not None
    path.write_bytes(written(suffix, other))
    with pytest.raises(RxError) as refused:
        Machine(report.checked.program, Files(tmp_path), None, report.checked.headers)
    (said,) = refused.value.diagnostics
    assert said.code == "E245" and "has changed since it was checked: it held Tensor([3], float32)" in said.message
    path.write_bytes(written(suffix, np.ones(3, np.float32)))
    assert Machine(report.checked.program, Files(tmp_path), None, report.checked.headers).script()["a"].tolist() == [
        1,
        1,
        1,
    ]


@pytest.mark.parametrize("way", ["api", "command"])
def test_both_entry_checks_compare_what_is_loaded_with_what_was_checked(
    tmp_path: Path,
    command,
    monkeypatch: pytest.MonkeyPatch,
    way: str,  # noqa: ANN001
) -> None:
    from rxlang import pipeline

    path, check = tmp_path / "w.npy", pipeline.check_bytes
    path.write_bytes(npy(np.zeros(3, np.float32)))
    Path("p.rx").write_text(
        'const w : Tensor([3], float32) = load("w.npy")\n@main = fn() : Tensor([3], float32) { w }\n'
    )

    def then_changed(*args: object) -> pipeline.Report:
        report = check(*args)  # type: ignore[arg-type]
        path.write_bytes(npy(np.zeros((2, 5), np.int64)))
        return report

    monkeypatch.setattr(pipeline, "check_bytes", then_changed)
    if way == "command":
        status, out, err = command("run", "p.rx")
        assert (status, out) == (2, "") and "error[E245]" in err
    else:
        with pytest.raises(rx.CheckError, match="has changed since it was checked"):
            rx.load("p.rx")


@pytest.mark.parametrize("order", [("w.npy", "w"), ("w", "w.npy")])
def test_a_tensor_of_an_archive_is_the_member_with_npy_behind_its_name(tmp_path: Path, order: tuple[str, str]) -> None:
    arrays = {"w.npy": npy(np.ones(3, np.float32)), "w": npy(np.zeros((2, 5), np.int64))}
    (tmp_path / "w.npz").write_bytes(archive(*((name, arrays[name]) for name in order)))
    for key in ("w", None):
        assert read_header(tmp_path / "w.npz", key).shape == (3,)
        assert load_array(tmp_path / "w.npz", key).tolist() == [1, 1, 1]
    with pytest.raises(BadWeights, match="has no tensor 'w.npy'; it has w"):
        load_array(tmp_path / "w.npz", "w.npy")


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "w.npz").write_bytes(
        archive(("w.npy", npy(np.ones(3))), ("v.npy", npy(np.ones(2))), ("w.npy", npy(np.ones(5))))
    )
    with pytest.raises(BadWeights, match="more than one tensor 'w'"):
        read_header(tmp_path / "w.npz", "w")
    assert load_array(tmp_path / "w.npz", "v").shape == (2,)


@pytest.mark.parametrize(
    "shape", ["(-3,)", "(3.7,)", "('3',)", "(True,)", "[3]", "(3.0,)", "3", "(0, 2**70)", "(2, 10**30)"]
)
def test_a_shape_that_is_none_is_refused_by_the_check(tmp_path: Path, shape: str) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}".encode()
    (tmp_path / "w.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + b"\0" * 12)
    found = rx.check_source('const w = load("w.npy")\nlet a = w\n', str(tmp_path / "p.rx")).diagnostics
    assert [d.code for d in found] == ["E245"]


@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">i8", "|b1", "<U3", ">U2", "<c16", ">f2"])
@pytest.mark.parametrize("columns", [False, True])
def test_every_way_that_numpy_writes_an_array_is_read_back(tmp_path: Path, dtype: str, columns: bool) -> None:
    array = np.arange(30).reshape(2, 3, 5).astype(dtype)
    array = np.asfortranarray(array) if columns else array
    np.save(tmp_path / "w.npy", array)
    np.savez_compressed(tmp_path / "w.npz", w=array)
    for path, key in ((tmp_path / "w.npy", None), (tmp_path / "w.npz", "w")):
        loaded = load_array(path, key)
        assert loaded.tolist() == array.tolist() and loaded.dtype.isnative and agrees(path, key)


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not beside this repository")
@pytest.mark.parametrize("program", sorted(CASES.glob("*.rx")) or [Path("none")], ids=lambda p: p.name)
def test_a_damaged_file_that_was_found_is_e245_or_runs(command, program: Path) -> None:  # noqa: ANN001
    first, second = command("run", str(program)), command("run", str(program))
    assert first == second and not _ADDRESS.search(first[2])
    assert "E245" in first[2] or first[0] == 0 or "neither a script nor @main" in first[2], first
