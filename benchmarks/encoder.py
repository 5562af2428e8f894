"""An equal transformer in the notations of Rx and its peers, and mistakes to plant in it.

The layers are written out one by one; the batch b and the length t are symbolic. `{...}` is where a mistake goes.
"""

from __future__ import annotations

from notations import Program

_RX = """  let q{i} = @permute_dims(@reshape(@linear({x}, wq, bq), [b, t, {heads}]), [0, 2, 1, 3])
  let k{i} = @permute_dims(@reshape(@linear({source}, wk, bk), [b, {length}, {others}]), [0, 2, 1, 3])
  let v{i} = @permute_dims(@reshape(@linear({source}, wv, bv), [b, {length}, {others}]), [0, 2, 1, 3])
  let s{i} = @matmul(q{i}, {keys}) * 0.17677669529663687
  let p{i} = @softmax(s{i} + mask, axis=-1)
  let c{i} = @reshape(@permute_dims(@matmul(p{i}, v{i}), [0, 2, 1, 3]), [b, t, {joined}])
  let a{i} = @layer_norm({x} + @linear(c{i}, wo, bo), g1, h1)
  let f{i} = @gelu(@linear(a{i}, w1, b1))
  let x{i} = @layer_norm(a{i} + @linear(f{i}, {second}, b2), g2, h2)"""

_TORCH = """q{i} = F.linear({x}, wq, bq).reshape(b, t, {heads}).permute(0, 2, 1, 3)
k{i} = F.linear({source}, wk, bk).reshape(b, {length}, {others}).permute(0, 2, 1, 3)
v{i} = F.linear({source}, wv, bv).reshape(b, {length}, {others}).permute(0, 2, 1, 3)
s{i} = (q{i} @ {keys}) * 0.17677669529663687
p{i} = torch.softmax(s{i} + mask, dim=-1)
c{i} = (p{i} @ v{i}).permute(0, 2, 1, 3).reshape(b, t, {joined})
a{i} = F.layer_norm({x} + F.linear(c{i}, wo, bo), (384,), g1, h1)
f{i} = F.gelu(F.linear(a{i}, w1, b1))
x{i} = F.layer_norm(a{i} + F.linear(f{i}, {second}, b2), (384,), g2, h2)"""

_JAX = """q{i} = ({x} @ wq.T + bq).reshape(b, t, {heads}).transpose(0, 2, 1, 3)
k{i} = ({source} @ wk.T + bk).reshape(b, {length}, {others}).transpose(0, 2, 1, 3)
v{i} = ({source} @ wv.T + bv).reshape(b, {length}, {others}).transpose(0, 2, 1, 3)
s{i} = (q{i} @ {keys}) * 0.17677669529663687
p{i} = jax.nn.softmax(s{i} + mask, axis=-1)
c{i} = (p{i} @ v{i}).transpose(0, 2, 1, 3).reshape(b, t, {joined})
a{i} = jax.nn.standardize({x} + c{i} @ wo.T + bo) * g1 + h1
f{i} = jax.nn.gelu(a{i} @ w1.T + b1)
x{i} = jax.nn.standardize(a{i} + f{i} @ {second}.T + b2) * g2 + h2"""

_RELAX = """q{i} = R.add(R.matmul({x}, R.permute_dims(wq)), bq)
q{i} = R.permute_dims(R.reshape(q{i}, R.shape([b, t, {heads}])), [0, 2, 1, 3])
k{i} = R.add(R.matmul({source}, R.permute_dims(wk)), bk)
k{i} = R.permute_dims(R.reshape(k{i}, R.shape([b, {length}, {others}])), [0, 2, 1, 3])
v{i} = R.add(R.matmul({source}, R.permute_dims(wv)), bv)
v{i} = R.permute_dims(R.reshape(v{i}, R.shape([b, {length}, {others}])), [0, 2, 1, 3])
s{i} = R.multiply(R.matmul(q{i}, {keys}), R.const(0.17677669529663687, "float32"))
p{i} = R.nn.softmax(R.add(s{i}, mask), axis=-1)
c{i} = R.reshape(R.permute_dims(R.matmul(p{i}, v{i}), [0, 2, 1, 3]), R.shape([b, t, {joined}]))
a{i} = R.nn.layer_norm(R.add({x}, R.add(R.matmul(c{i}, R.permute_dims(wo)), bo)), g1, h1, axes=[-1])
f{i} = R.nn.gelu(R.add(R.matmul(a{i}, R.permute_dims(w1)), b1))
x{i} = R.nn.layer_norm(R.add(a{i}, R.add(R.matmul(f{i}, R.permute_dims({second})), b2)), g2, h2, axes=[-1])"""

_KEYS = {
    "rx": "@matrix_transpose(k{i})",
    "torch": "k{i}.transpose(-2, -1)",
    "jax": "k{i}.transpose(0, 1, 3, 2)",
    "relax": "R.permute_dims(k{i}, [0, 1, 3, 2])",
}
_FIRST = {
    "torch": "b, t, _ = x.shape\nu = memory.shape[1]\n",
    "jax": "b, t, _ = x.shape\nu = memory.shape[1]\n",
}
_PARAMS = {
    "x": "b, t, 384",
    "memory": "b, u, 384",
    "mask": "b, 1, 1, t",
    **{f"w{n}": "384, 384" for n in "qkvo"},
    **{f"b{n}": "384" for n in "qkvo"},
    "w1": "1536, 384",
    "b1": "1536",
    "w2": "384, 1536",
    "b2": "384",
    "g1": "384",
    "h1": "384",
    "g2": "384",
    "h2": "384",
}

# What is wrong, and what it puts in the place of what is right in the last layer, or among the parameters.
MISTAKES: dict[str, dict[str, str]] = {
    "queries of 12 heads of 33": {"heads": "12, 33"},
    "heads joined to 385": {"joined": "385"},
    "12 heads of 33 all along": {"heads": "12, 33", "others": "12, 33", "joined": "396", "wo": "384, 396"},
    "keys not transposed": {"keys": "k{i}"},
    "first weight used twice": {"second": "w1"},
    "a mask of 3 heads": {"mask": "b, 3, 1, t"},
    "a norm of 383": {"g2": "383"},
    "keys of length u under a mask of t": {"source": "memory", "length": "u"},
}


def encoder(layers: int, mistake: str = "") -> Program:
    """The transformer, with a mistake in its last layer. `memory` is a second sequence that only a mistake uses."""
    wrong = MISTAKES.get(mistake, {})
    params = {name: wrong.get(name, dims) for name, dims in _PARAMS.items()}

    def body(notation: str, layer: str, end: str) -> str:
        lines = []
        for i in range(layers):
            x = f"x{i - 1}" if i else "x"
            right = {"heads": "12, 32", "others": "12, 32", "joined": "384", "second": "w2", "source": x, "length": "t"}
            right["keys"] = _KEYS[notation]
            chosen = right | {key: value for key, value in wrong.items() if i == layers - 1 and key in right}
            chosen["keys"] = chosen["keys"].format(i=i)
            lines.append(layer.format(i=i, x=x, **chosen))
        return _FIRST.get(notation, "") + "\n".join(lines) + f"\n{end}x{layers - 1}"

    return Program(
        params,
        "b, t, 384",
        rx=body("rx", _RX, "  "),
        torch=body("torch", _TORCH, "return "),
        jax=body("jax", _JAX, "return "),
        relax=body("relax", _RELAX, "return "),
    )
