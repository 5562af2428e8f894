"""Small questions about sizes, put to Rx and to its peers: who accepts what, and what is true.

    python benchmarks/peers.py [--why]

Each row is one program in the notation of each; empty is what a notation can't say. A program fits for all sizes, for some,
or for none (empty tensors aside). A `!` marks an answer that is wrong: accepted although it may fail and without a word of
it, or refused although it fits for all sizes. A `?` marks the refusal of what fits for some sizes, which is a loss but no
danger. `--why` prints the first line of each answer.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

from notations import ASK, Program, can_say, installed

ALWAYS, SOMETIMES, NEVER = "all", "some", "none"


class Row(NamedTuple):
    claim: str
    fits: str
    program: Program


def same(text: str, relax: str, **params: str) -> Program:
    """A program that Rx, PyTorch and JAX write alike."""
    return Program(params, "", rx=text, torch=f"return {text}", jax=f"return {text}", relax=f"return {relax}")


CALL = """@I.ir_module
class Module:
    @R.function
    def {name}({params}) -> R.Tensor({result}, "float32"):
{symbols}
        return {body}

    @R.function
    def main({given}):
        cls = Module
        return cls.{name}({arguments})
"""


def call(name: str, params: dict[str, str], result: str, body: tuple[str, str, str], **given: str) -> Program:
    """A call of a function with declared sizes. `body` is in Rx, for PyTorch, and for Relax; the tensors given have `given`."""
    signature = Program(params, result, rx="")
    arguments = ", ".join(given)

    def relax(dims: str) -> str:
        return "(" + "".join(f"{d if d.isdigit() else repr(d)}, " for d in dims.split(", ")) + ")"

    def tensors(of: dict[str, str]) -> str:
        return ", ".join(f"{n}: R.Tensor({relax(dims)}, 'float32')" for n, dims in of.items())

    head = ", ".join(f"{n} : Tensor([{dims}], float32)" for n, dims in params.items())
    typed = ", ".join(f"{n}: Tensor[[{dims.upper()}]]" for n, dims in params.items())
    names = ", ".join(f"{n.upper()}: IntVar" for n in signature.names)
    return Program(
        given,
        "",
        rx=f"let {name} = fn({head}) : Tensor([{result}], float32) {{ {body[0]} }}\n{name}({arguments})",
        pyrefly=f"def {name}[{names}]({typed}) -> Tensor[[{result.upper()}]]:\n    return {body[1]}\n"
        f"return {name}({arguments})",
        relax=CALL.format(
            name=name,
            params=tensors(params),
            result=relax(result),
            symbols="\n".join(f"        {n} = T.int64()" for n in signature.names),
            body=body[2],
            given=tensors(given),
            arguments=arguments,
        ),
    )


MATMUL = ("@matmul(a, b)", "a @ b", "R.matmul(a, b)")
ADD = ("a + b", "a + b", "R.add(a, b)")
FIRST = ("a", "a", "a")

ROWS = (
    Row(
        "[2, 3] @ [4, 5]",
        NEVER,
        Program(
            {"x": "2, 3", "y": "4, 5"},
            "",
            rx="@matmul(x, y)",
            torch="return x @ y",
            jax="return x @ y",
            relax="return R.matmul(x, y)",
        ),
    ),
    Row(
        "[2, 3] and [4, 5] given to ([m, k], [k, n])",
        NEVER,
        call("mm", {"a": "m, k", "b": "k, n"}, "m, n", MATMUL, x="2, 3", y="4, 5"),
    ),
    Row("[16, 32] given to ([n, n])", NEVER, call("sq", {"a": "n, n"}, "n, n", FIRST, x="16, 32")),
    Row("[3] and [7] given to ([n], [n * 2])", NEVER, call("f", {"a": "n", "b": "n * 2"}, "n", FIRST, x="3", y="7")),
    Row(
        "[1, 4] given for [n, 4] of 5 rows",
        NEVER,
        call("f", {"a": "n, 4", "b": "n, 4"}, "n, 4", ADD, x="5, 4", y="1, 4"),
    ),
    Row(
        "[5, 4] given for [n, 4] of 5 rows",
        ALWAYS,
        call("f", {"a": "n, 4", "b": "n, 4"}, "n, 4", ADD, x="5, 4", y="5, 4"),
    ),
    Row(
        "[n, m] @ [k, p]",
        SOMETIMES,
        Program(
            {"x": "n, m", "y": "k, p"},
            "",
            rx="@matmul(x, y)",
            torch="return x @ y",
            jax="return x @ y",
            relax="return R.matmul(x, y)",
        ),
    ),
    Row(
        "[2, n] @ [n * n + 1, 2]",
        NEVER,
        Program(
            {"x": "2, n", "y": "n * n + 1, 2"},
            "",
            rx="@matmul(x, y)",
            torch="return x @ y",
            jax="return x @ y",
            relax="return R.matmul(x, y)",
        ),
    ),
    Row("[n] + [m]", SOMETIMES, same("x + y", "R.add(x, y)", x="n", y="m")),
    Row("[2, n] + [3]", SOMETIMES, same("x + y", "R.add(x, y)", x="2, n", y="3")),
    Row("[3, n] + [4, m]", NEVER, same("x + y", "R.add(x, y)", x="3, n", y="4, m")),
    Row("[4 * m] + [15]", NEVER, same("x + y", "R.add(x, y)", x="4 * m", y="15", z="m")),
    Row("[1, d] + [n, d]", ALWAYS, same("x + y", "R.add(x, y)", x="1, d", y="n, d")),
    Row(
        "[n, m] + its transpose",
        SOMETIMES,
        Program(
            {"x": "n, m"},
            "",
            rx="x + @matrix_transpose(x)",
            torch="return x + x.transpose(0, 1)",
            jax="return x + x.T",
            relax="return R.add(x, R.permute_dims(x))",
        ),
    ),
    Row(
        "where(c [n], x [m], y [n])",
        SOMETIMES,
        Program(
            {"c": "n", "x": "m", "y": "n"},
            "",
            rx="@where(c, x, y)",
            torch="return torch.where(c, x, y)",
            jax="return jnp.where(c, x, y)",
            relax="return R.where(c, x, y)",
            dtypes={"c": "bool"},
        ),
    ),
    Row(
        "[n, 15] reshaped to [n, 4, 4]",
        NEVER,
        Program(
            {"x": "n, 15"},
            "",
            rx="@reshape(x, [n, 4, 4])",
            torch="n, _ = x.shape\nreturn x.reshape(n, 4, 4)",
            jax="n, _ = x.shape\nreturn x.reshape(n, 4, 4)",
            relax="return R.reshape(x, R.shape([n, 4, 4]))",
        ),
    ),
    Row(
        "[n, d] reshaped to [-1, d]",
        ALWAYS,
        Program(
            {"x": "n, d"},
            "",
            rx="@reshape(x, [-1, d])",
            torch="_, d = x.shape\nreturn x.reshape(-1, d)",
            jax="_, d = x.shape\nreturn x.reshape(-1, d)",
            relax="return R.reshape(x, R.shape([-1, d]))",
        ),
    ),
    Row(
        "the fast flatten of [n, m * 4]",
        ALWAYS,
        Program(
            {"x": "n, m * 4", "z": "m"},
            "n * m",
            rx="@reshape(@sum(@reshape(x, [n, m, 4]), axis=2), [n * m])",
            torch="n, m = x.shape[0], z.shape[0]\nreturn x.reshape(n, m, 4).sum(2).reshape(n * m)",
            jax="n, m = x.shape[0], z.shape[0]\nreturn x.reshape(n, m, 4).sum(2).reshape(n * m)",
            relax="return R.reshape(R.sum(R.reshape(x, R.shape([n, m, 4])), axis=2), R.shape([n * m]))",
        ),
    ),
    Row(
        "[b, c, h, w] flattened, then @ [w * h * c, 10]",
        ALWAYS,
        Program(
            {"x": "b, c, h, w", "y": "w * h * c, 10"},
            "b, 10",
            rx="@matmul(@reshape(x, [b, c * h * w]), y)",
            torch="b, c, h, w = x.shape\nreturn x.reshape(b, c * h * w) @ y",
            jax="b, c, h, w = x.shape\nreturn x.reshape(b, c * h * w) @ y",
            relax="return R.matmul(R.reshape(x, R.shape([b, c * h * w])), y)",
        ),
    ),
    Row(
        "[n] and [m] laid end to end, + [m + n]",
        ALWAYS,
        Program(
            {"x": "n", "y": "m", "z": "m + n"},
            "n + m",
            rx="@concat([x, y], axis=0) + z",
            torch="return torch.cat((x, y)) + z",
            jax="return jnp.concatenate([x, y]) + z",
            relax="return R.add(R.concat([x, y], axis=0), z)",
        ),
    ),
    Row(
        "both halves of [n] laid end to end, + [n]",
        ALWAYS,
        Program(
            {"x": "n"},
            "n",
            rx="@concat([x[:n // 2], x[n // 2:]], axis=0) + x",
            torch="n = x.shape[0]\nreturn torch.cat((x[: n // 2], x[n // 2 :])) + x",
            jax="n = x.shape[0]\nreturn jnp.concatenate([x[: n // 2], x[n // 2 :]]) + x",
            relax="return R.add(R.concat([R.strided_slice(x, [0], [0], [n // 2]), R.strided_slice(x, [0], [n // 2], [n])],"
            " axis=0), x)",
        ),
    ),
    Row(
        "every second of [n], + [(n + 1) // 2]",
        ALWAYS,
        Program(
            {"x": "n", "y": "(n + 1) // 2"},
            "",
            rx="x[::2] + y",
            torch="return x[::2] + y",
            jax="return x[::2] + y",
            relax="return R.add(R.strided_slice(x, [0], [0], [n], [2]), y)",
        ),
    ),
    Row(
        "rows 2 to 5 of [n, 3], + [3, 3]",
        SOMETIMES,
        Program(
            {"x": "n, 3", "y": "3, 3"},
            "",
            rx="x[2:5, :] + y",
            torch="return x[2:5] + y",
            jax="return x[2:5] + y",
            relax="return R.add(R.strided_slice(x, [0], [2], [5]), y)",
        ),
    ),
    Row(
        "a strided convolution, + every second pixel",
        ALWAYS,
        Program(
            {"x": "b, 3, h, w", "f": "3, 3, 3, 3"},
            "",
            rx="@conv(x, f, strides=[2, 2], pads=[(1, 1), (1, 1)]) + x[:, :, ::2, ::2]",
            torch="return F.conv2d(x, f, stride=2, padding=1) + x[:, :, ::2, ::2]",
            jax="y = jax.lax.conv_general_dilated(x, f, (2, 2), [(1, 1), (1, 1)])\nreturn y + x[:, :, ::2, ::2]",
            relax="y = R.nn.conv2d(x, f, strides=[2, 2], padding=[1, 1])\n"
            "return R.add(y, R.strided_slice(x, [2, 3], [0, 0], [h, w], [2, 2]))",
        ),
    ),
    Row(
        "pooled by 2 and doubled again, + itself",
        SOMETIMES,
        Program(
            {"x": "b, c, h, w"},
            "",
            rx="@upsample(@max_pool(x, kernel_shape=[2, 2], strides=[2, 2]), scales=[2, 2]) + x",
            torch="return F.max_pool2d(x, 2).repeat_interleave(2, 2).repeat_interleave(2, 3) + x",
            jax="y = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), 'VALID')\n"
            "return jnp.repeat(jnp.repeat(y, 2, 2), 2, 3) + x",
            relax="return R.add(R.repeat(R.repeat(R.nn.max_pool2d(x, [2, 2], [2, 2]), 2, 2), 2, 3), x)",
        ),
    ),
    Row(
        "[2, 5] declared to be [2, 6]",
        NEVER,
        Program({"x": "2, 5"}, "2, 6", rx="x", pyrefly="return x", relax="return x"),
    ),
    Row(
        "[n] declared to be [n + 1]",
        NEVER,
        Program({"x": "n"}, "n + 1", rx="x", pyrefly="return x", relax="return x"),
    ),
)

MARKS = {
    (ALWAYS, "warns"): "!",
    (ALWAYS, "refuses"): "!",
    (SOMETIMES, "accepts"): "!",
    (SOMETIMES, "refuses"): "?",
    (NEVER, "accepts"): "!",
    (NEVER, "warns"): "!",
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--why", action="store_true")
    why = options.parse_args().why
    peers = installed()
    wrong = dict.fromkeys(peers, 0)
    lost = dict.fromkeys(peers, 0)
    print(f"{'program':48} {'fits':5}" + "".join(f"{peer:>14}" for peer in peers))
    for row in ROWS:
        cells, reasons = [], []
        for peer in peers:
            if not can_say(peer, row.program):
                cells.append("")
                continue
            answer = ASK[peer](row.program)
            mark = MARKS.get((row.fits, answer.verdict), "")
            wrong[peer] += mark == "!"
            lost[peer] += mark == "?"
            cells.append(answer.verdict + mark)
            reasons.append(f"    {peer}: {answer.why}")
        print(f"{row.claim:48} {row.fits:5}" + "".join(f"{cell:>14}" for cell in cells))
        if why:
            print("\n".join(reasons))
    print(f"{'wrong (!)':54}" + "".join(f"{wrong[peer]:14d}" for peer in peers))
    print(f"{'refused though it may fit (?)':54}" + "".join(f"{lost[peer]:14d}" for peer in peers))


if __name__ == "__main__":
    main()
