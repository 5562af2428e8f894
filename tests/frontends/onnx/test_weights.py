"""Weights of models: every type of elements in every form is what onnx says it is, mapped where it is large, and streamed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from rxlang import pipeline  # noqa: E402
from rxlang.frontends.onnx.model import StoredInitializer  # noqa: E402
from rxlang.frontends.onnx.reading import read_model  # noqa: E402
from rxlang.frontends.onnx.weights import write_weights  # noqa: E402
from rxlang.interp.files import load_array  # noqa: E402
from rxlang.lang.diagnostics import RxError  # noqa: E402
from rxlang.lang.onnx_weights import ELEMENTS  # noqa: E402
from rxlang.lang.stored import BadWeights  # noqa: E402
from rxlang.lang.weights import read_header  # noqa: E402

SHAPES = ((), (0,), (3,), (2, 3), (7, 5), (2, 0, 5), (1025,), (40, 50))


def elements(random: Random, type_: int, shape: tuple[int, ...]) -> np.ndarray:
    dtype = helper.tensor_dtype_to_np_dtype(type_)
    if type_ == TensorProto.STRING:
        texts = ["".join(random.choices("añ字 😀", k=random.randint(0, 3))) for _ in range(int(np.prod(shape)))]
        return np.array(texts, dtype=object).reshape(shape)
    bits = ELEMENTS[type_].endswith(("2", "4")) and ELEMENTS[type_].lstrip("u") in ("int2", "int4")
    values = np.array([random.randint(0, 1 if bits else 3) for _ in range(int(np.prod(shape)))], dtype=np.int64)
    return values.reshape(shape).astype(dtype)


def as_list(name: str, type_: int, array: np.ndarray) -> TensorProto:
    """The tensor with its elements one by one."""
    values = array.reshape(-1)
    return helper.make_tensor(
        name, type_, array.shape, values if type_ == TensorProto.STRING else values.astype(array.dtype)
    )


def with_initializers(*tensors: TensorProto) -> onnx.ModelProto:
    nodes = [helper.make_node("Identity", [tensors[0].name], ["y"])]
    output = helper.make_value_info("y", helper.make_tensor_type_proto(tensors[0].data_type, None))
    return helper.make_model(helper.make_graph(nodes, "g", [], [output], list(tensors)))


def same(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind in "OUT":
        return one.astype(object).tolist() == other.astype(object).tolist()
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def forms(random: Random, folder: Path, name: str, type_: int, array: np.ndarray) -> list[TensorProto]:
    """The tensor as bytes, as a list, and as bytes in another file."""
    if type_ == TensorProto.STRING:
        return [as_list(name, type_, array)]
    raw = numpy_helper.from_array(array, name)
    assert raw.data_type == type_
    external = TensorProto(name=name, data_type=type_, dims=array.shape)
    before = random.choice([b"", b"abc", b"\0" * 4096])
    (folder / f"{name}.bin").write_bytes(before + raw.raw_data + b"more")
    external.data_location = TensorProto.EXTERNAL
    for key, value in {"location": f"{name}.bin", "offset": len(before), "length": len(raw.raw_data)}.items():
        if value or key == "location":
            external.external_data.add(key=key, value=str(value))
    return [raw, as_list(name, type_, array), external]


@pytest.mark.parametrize("type_", ELEMENTS)
def test_each_type_in_each_form_is_what_onnx_says(type_: int, tmp_path: Path) -> None:
    random = Random(type_)
    for number, shape in enumerate(SHAPES):
        array = elements(random, type_, shape)
        all_forms = forms(random, tmp_path, f"w{number}", type_, array)
        for form, tensor in enumerate(all_forms):
            path = tmp_path / f"m{number}_{form}.onnx"
            onnx.save(with_initializers(tensor), path)
            theirs = numpy_helper.to_array(all_forms[0])
            header = read_header(path, tensor.name)
            assert (header.shape, header.dtype.name) == (shape, ELEMENTS[type_])
            assert same(load_array(path, tensor.name), theirs), (shape, form)
            (mine,) = read_model(path).graph.initializers
            check_plain(mine, theirs)


def check_plain(mine: StoredInitializer, theirs: np.ndarray) -> None:
    assert mine.shape == theirs.shape
    if mine.place is not None and theirs.size:
        with mine.place.file.open("rb") as file:
            file.seek(mine.place.offset)
            data = file.read(mine.place.length)
        proto = TensorProto(data_type=onnx_type(mine.dtype), dims=mine.shape, raw_data=data)
        assert same(numpy_helper.to_array(proto), theirs)
    assert mine.values is not None or (mine.place or mine.key) is not None and theirs.size > 64
    if mine.values is not None:
        assert all(type(v) in (int, float, complex, bool, str) for v in mine.values)
        assert same(np.array(mine.values, dtype=object).reshape(theirs.shape).astype(theirs.dtype), theirs)


def onnx_type(dtype: str) -> int:
    return next(number for number, name in ELEMENTS.items() if name == dtype)


def test_tensors_in_nodes_graphs_and_functions_are_found_by_their_way(tmp_path: Path) -> None:
    random, path = Random(1), tmp_path / "m.onnx"
    arrays = [np.array([random.random() for _ in range(2000)], np.float32) for _ in range(5)]
    constants = [numpy_helper.from_array(a, "t") for a in arrays]
    float_, out = TensorProto.FLOAT, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    weight = numpy_helper.from_array(arrays[1], "w")
    inner = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "then", [], out, [weight])
    other = helper.make_graph([helper.make_node("Constant", [], ["y"], value=constants[2])], "else", [], out)
    nodes = [
        helper.make_node("Constant", [], ["c"], value=constants[0]),
        helper.make_node("If", ["cond"], ["z"], then_branch=inner, else_branch=other),
        helper.make_node("F", [], ["f"], domain="own"),
    ]
    body = [helper.make_node("Constant", [], ["q"], value=constants[3])]
    function = helper.make_function("own", "F", [], ["q"], body, [helper.make_opsetid("", 18)])
    outputs = [helper.make_tensor_value_info(n, float_, None) for n in "czf"]
    cond = helper.make_tensor_value_info("cond", TensorProto.BOOL, [])
    weights = [numpy_helper.from_array(arrays[4], "node 7.value")]
    graph = helper.make_graph(nodes, "g", [cond], outputs, weights)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    onnx.save(helper.make_model(graph, functions=[function], opset_imports=opsets), path)
    ways = [
        "node 0.value",
        "node 1.then_branch.w",
        "node 1.else_branch.node 0.value",
        "function 0.node 0.value",
        "node 7.value",
    ]
    for way, array in zip(ways, arrays, strict=True):
        assert same(load_array(path, way), array)
    model = read_model(path)
    constant, branch, _ = model.graph.operations
    (inside,) = branch.attributes["else_branch"].operations
    found = [constant.attributes["value"], branch.attributes["then_branch"].initializers[0], inside.attributes["value"]]
    found += [model.functions[0].operations[0].attributes["value"], model.graph.initializers[0]]
    assert [tensor.key for tensor in found] == ways


def test_a_program_loads_from_a_model_and_a_change_in_between_is_e245(tmp_path: Path) -> None:
    from rxlang.interp.run import Machine
    from rxlang.lang.files import Files

    array = np.arange(40_000, dtype=np.float32)
    big, path = numpy_helper.from_array(array, "w"), tmp_path / "m.onnx"
    onnx.save_model(
        with_initializers(big),
        path,
        save_as_external_data=True,
        location="m.data",
        size_threshold=0,
        convert_attribute=False,
    )
    text = 'const w : Tensor([40_000], float32) = load("m.onnx", "w")\nlet a = w\n'
    report = pipeline.check_text(text, "p.rx", tmp_path)
    assert report.ok and report.checked is not None
    ran = Machine(report.checked.program, Files(tmp_path), None, report.checked.headers).script()["a"]
    assert same(np.asarray(ran), array) and not ran.flags.owndata
    for changed in (tmp_path / "m.data", path):
        before = changed.stat()
        os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
        with pytest.raises(RxError) as refused:
            Machine(report.checked.program, Files(tmp_path), None, report.checked.headers)
        (said,) = refused.value.diagnostics
        assert said.code == "E245" and "has changed since it was checked" in said.message
        os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    with (tmp_path / "m.data").open("ab") as file:
        file.write(b"more")
    with pytest.raises(RxError):
        Machine(report.checked.program, Files(tmp_path), None, report.checked.headers)


def test_large_weights_are_mapped_where_numpy_can_use_them(tmp_path: Path) -> None:
    array = np.arange(50_000, dtype=np.float32)
    for before in range(4):
        tensor = TensorProto(name="w", data_type=1, dims=[50_000], data_location=TensorProto.EXTERNAL)
        (tmp_path / "w.bin").write_bytes(b"x" * before + array.tobytes())
        tensor.external_data.add(key="location", value="w.bin")
        tensor.external_data.add(key="offset", value=str(before))
        onnx.save(with_initializers(tensor), tmp_path / "m.onnx")
        loaded = load_array(tmp_path / "m.onnx", "w")
        assert same(loaded, array) and loaded.flags.aligned
        base = loaded
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap) == (before == 0)


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="the peak of memory is read from /proc")
def test_four_gigabytes_of_external_weights_add_little_before_a_run(tmp_path: Path) -> None:
    size, count = 2**28, 4
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(4 * size * count)
    tensors = []
    for number in range(count):
        tensor = TensorProto(name=f"w{number}", data_type=1, dims=[size], data_location=TensorProto.EXTERNAL)
        for key, value in {"location": "w.bin", "offset": 4 * size * number, "length": 4 * size}.items():
            tensor.external_data.add(key=key, value=str(value))
        tensors.append(tensor)
    onnx.save(with_initializers(*tensors), tmp_path / "m.onnx")
    lines = [f'const w{n} : Tensor([{size}], float32) = load("m.onnx", "w{n}")\n' for n in range(count)]
    (tmp_path / "p.rx").write_text("".join(lines) + "let a = " + " + ".join(f"w{n}[0:2]" for n in range(count)) + "\n")
    script = (
        "import re, sys; from pathlib import Path; import rxlang.cli.main as main\n"
        "from rxlang.frontends.onnx.reading import read_model\n"
        "import numpy, onnx, ml_dtypes, rxlang.interp.run\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
        "before = peak()\n"
        "read_model(Path('m.onnx')); assert main.invoke(['run', 'p.rx']) == 0\n"
        "print(peak() - before, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "= [0., 0.]" in done.stdout, done.stderr
    assert int(done.stderr.splitlines()[-1]) < 100_000


# Data that is not there, or elsewhere


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"location": "../w.bin"}, "names no file below the model's folder"),
        ({"location": "sub/../../w.bin"}, "names no file below the model's folder"),
        ({"location": "/etc/passwd"}, "names no file below the model's folder"),
        ({"location": ""}, "names no file below the model's folder"),
        ({}, "names no file below the model's folder"),
        ({"location": "."}, "names no file below the model's folder"),
        ({"location": "sub"}, "is no regular file"),
        ({"location": "out/w.bin"}, "leads out of the model's folder"),
        ({"location": "/dev/zero"}, "names no file below the model's folder"),
        ({"location": "zero"}, "is no regular file"),
        ({"location": "absent.bin"}, "is not there"),
        ({"location": "x" * 5000}, "is not there"),
        ({"location": "w\0.bin"}, "names no file below the model's folder"),
        ({"location": "w.bin", "offset": "-4"}, "is no number of bytes"),
        ({"location": "w.bin", "offset": "9" * 400}, "is no number of bytes"),
        ({"location": "w.bin", "offset": "٣"}, "is no number of bytes"),
        ({"location": "w.bin", "offset": str(2**63)}, f"ends at byte {2**63 + 12} of w.bin, which has 16"),
        ({"location": "w.bin", "offset": "8"}, "ends at byte 20 of w.bin, which has 16"),
        ({"location": "w.bin", "length": "16"}, "has 16 bytes of data in w.bin where its shape asks for 12"),
        ({"location": "w.bin", "length": str(2**64)}, "is no number of bytes"),
    ],
)
def test_external_data_is_a_plain_file_below_the_folder(entries: dict[str, str], said: str, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    (folder / "sub").mkdir(parents=True)
    for path in (folder / "w.bin", tmp_path / "w.bin"):
        path.write_bytes(b"0" * 16)
    (folder / "out").symlink_to(tmp_path)
    (folder / "zero").symlink_to("/dev/zero")
    tensor = TensorProto(name="w", data_type=1, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    (folder / "m.onnx").write_bytes(with_initializers(tensor).SerializeToString())
    with pytest.raises(BadWeights, match="holds a tensor 'w' that ") as refused:
        load_array(folder / "m.onnx", "w")
    with pytest.raises(RxError) as unread:
        read_model(folder / "m.onnx")
    (diagnostic,) = unread.value.diagnostics
    assert diagnostic.code == "E246" and diagnostic.message.startswith("initializer `w` has ") or "ends at" in said
    assert said in str(refused.value) and said in diagnostic.message
    assert len(diagnostic.message) < 400


def test_a_link_is_followed_to_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs/w").write_bytes(np.arange(3, dtype=np.float32).tobytes())
    (tmp_path / "m").mkdir()
    (tmp_path / "m/w.bin").symlink_to("../blobs/w")
    tensor = TensorProto(name="w", data_type=1, dims=[3], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    (tmp_path / "m/m.onnx").write_bytes(with_initializers(tensor).SerializeToString())
    assert load_array(tmp_path / "m/m.onnx", "w").tolist() == [0, 1, 2]
    assert read_model(tmp_path / "m/m.onnx").graph.initializers[0].values == (0, 1, 2)


# Streamed


def test_streamed_weights_are_what_the_model_holds(tmp_path: Path) -> None:
    random, tensors, arrays = Random(3), [], []
    for number, type_ in enumerate(ELEMENTS):
        array = elements(random, type_, random.choice(SHAPES))
        tensors.append(random.choice(forms(random, tmp_path, f"w{number}", type_, array)))
        arrays.append(array)
    onnx.save(with_initializers(*tensors), tmp_path / "m.onnx")
    (tmp_path / "out").mkdir()
    written = write_weights(read_model(tmp_path / "m.onnx"), tmp_path / "out")
    assert written == tmp_path / "out/m.safetensors"
    for tensor, array in zip(tensors, arrays, strict=True):
        if tensor.data_type == TensorProto.STRING:
            with pytest.raises(BadWeights):
                read_header(written, tensor.name)
            continue
        assert same(load_array(written, tensor.name), array)


def test_what_the_format_has_no_name_for_is_bytes_with_its_dtype_in_the_header(tmp_path: Path) -> None:
    import ml_dtypes

    tensors = [
        numpy_helper.from_array(np.array([[1, -2, 3], [-4, 5, -6]], ml_dtypes.int4), "q"),
        numpy_helper.from_array(np.array([1.5, 2], np.float32), "s"),
    ]
    onnx.save(with_initializers(*tensors), tmp_path / "m.onnx")
    data = write_weights(read_model(tmp_path / "m.onnx"), tmp_path).read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert header == {
        "__metadata__": {"rx:q": '{"dtype": "int4", "shape": [2, 3]}'},
        "s": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "q": {"dtype": "U8", "shape": [3], "data_offsets": [8, 11]},
    }
    assert data[-3:] == tensors[0].raw_data
