"""The translator of the small notation: any primitive by its name or by what others call it, and the bugs it is read for."""

from __future__ import annotations

from pathlib import Path

import pytest
from rxlang import pipeline
from rxlang.lang.diagnostics import Diagnostic
from support import shape_bugs


def said(ops: str) -> list[Diagnostic]:
    text = shape_bugs.program({"ops": ops})
    found = pipeline.check_text(text, "bug.rx", Path(".")).diagnostics
    assert not [d for d in found if d.severity == "error" and d.code < "E3"], text
    return [d for d in found if d.severity != "note"]


IN = "in x : [B,12,8]; in y : [B,12,8]; in im : [B,3,8,8]; in w : [6,3,3,3]; in ids : [B,12] i64; size k; "


@pytest.mark.parametrize(
    ("operation", "becomes"),
    [
        ("cat([x,y],dim=2)", "@concat([x, y], axis=2)"),
        ("cumsum(x,1)", "@cumulative_sum(x, axis=1)"),
        ("cumsum(x,dim=1)", "@cumulative_sum(x, axis=1)"),
        ("einsum('bij,bkj->bik',x,y)", '@einsum("bij,bkj->bik", [x, y])'),
        ("view(x,B,96)", "@reshape(x, [B, 96])"),
        ("mean(x,(1,2),keepdim=True)", "@mean(x, axis=[1, 2], keepdims=true)"),
        ("unsqueeze(x,0)", "@expand_dims(x, axis=0)"),
        ("transpose(x,1,2)", "@swapaxes(x, 1, 2)"),
        ("gather(x,2,ids)", "@take_along_axis(x, ids, axis=2)"),
        ("gather(x,ids,axis=1)", "@take(x, ids, axis=1)"),
        ("narrow(x,1,k,4)", "@slice(x, k, k + 4, axes=1)"),
        ("conv2d(im,w,2,padding=1,layout='NCHW')", "@conv2d(im, w, strides=2, pads=[(1, 1)])"),
        ("conv2d(x,w,padding='valid')", '@conv2d(x, w, auto_pad="valid", layout="channels_last")'),
        ("adaptive_avgpool2d(im,(1,1))", "@adaptive_average_pool(im, [1, 1])"),
        ("upsample2d(im,2)", '@upsample(im, 2, layout="channels_last")'),
        ("interpolate(im,scale_factor=2)", "@upsample(im, 2)"),
        ("interpolate(im,size=(4,4))", "@resize(im, [4, 4])"),
        ("layer_norm(x,y,y)", "@layer_norm(x, y, y)"),
        ("x * 2 + y", "((x * 2) + y)"),
        ("mul(x,greater(x,y))", "(x * @cast((x > y), float32))"),
        ("equal(ids,argmax(x,2))", "(ids == @argmax(x, axis=2))"),
        ("sparse_xent(x,y)", "@cross_entropy_loss(x, @cast(y, int64), axis=-1)"),
        ("masked_fill(x,greater(x,y),0.5)", "@where((x > y), 0.5, x)"),
        ("full([2,3],0.5)", "@full([2, 3], 0.5, dtype=float32)"),
        ("chunk(x,2,dim=1)", "@split(x, sections=2, axis=1)"),
        ("reshape(x,[x.shape[0],-1])", "@reshape(x, [x.dim(0), -1])"),
    ],
)
def test_an_operation_becomes_the_primitive_that_it_stands_for(operation: str, becomes: str) -> None:
    assert f"  let z = {becomes}\n" in shape_bugs.program({"ops": f"{IN}z = {operation}"})


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("z = pixel_sort(im,x)", "no primitive stands for `pixel_sort`"),
        ("z = softmax(x,temperature=2)", "@softmax has no attribute `temperature`"),
        ("z = relu(x,2,3)", "@relu takes no argument `2`"),
        ("z = flatten(x,1,2,3)", "flatten: too many positional arguments"),
        ("z = [x,y]", "[x, y]"),
    ],
)
def test_what_has_no_counterpart_is_named(statement: str, what: str) -> None:
    with pytest.raises(shape_bugs.Unmapped) as problem:
        shape_bugs.program({"ops": IN + statement})
    assert str(problem.value) == what


# One row a kind: the operation that the kind is about, with what goes wrong, and without.
KINDS = {
    "a skip connection of odd size": (
        "in x : [B,45,45,3]; p = maxpool2d(x,2); u = upsample2d(p,2); y = concat([u,x],3)",
        "in x : [B,4*h,4*w,3]; p = maxpool2d(x,2); u = upsample2d(p,2); y = concat([u,x],3)",
    ),
    "groups that do not divide": (
        "in x : [B,30,8,8]; param w : [32,8,3,3]; y = conv2d(x,w,groups=4,layout='NCHW')",
        "in x : [B,32,8,8]; param w : [32,8,3,3]; y = conv2d(x,w,groups=4,layout='NCHW')",
    ),
    "targets shifted by one": (
        "in t : [B,T] i64; assume T >= 2; assume B >= 1; param E : [50,64]; e = embedding(slice_(t,1,0,T-1),E);"
        " l = sparse_xent(dense(e,50),t)",
        "in t : [B,T] i64; param E : [50,64]; e = embedding(slice_(t,1,0,T-1),E);"
        " l = sparse_xent(dense(e,50),slice_(t,1,1,T))",
    ),
    "a context with an axis too many": (
        "in w : [B,1,20]; in enc : [B,20,256]; c = bmm(w,enc); in e : [B,128]; y = cat([e,c],1)",
        "in w : [B,1,20]; in enc : [B,20,256]; c = bmm(w,enc); in e : [B,128]; y = cat([e,squeeze(c,1)],1)",
    ),
    "grouped keys that were not repeated": (
        "in q : [B,8,T,64]; in k : [B,2,T,64]; s = matmul(q,swap(k,2,3))",
        "in q : [B,8,T,64]; in k : [B,2,T,64]; s = matmul(q,swap(repeat(k,4,1),2,3)); match s : [B,8,T,T]",
    ),
    "positions without the class token": (
        "in x : [B,196,768]; c = broadcast_to(zeros([1,1,768]),[B,1,768]); param p : [1,196,768]; z = add(concat([c,x],1),p)",
        "in x : [B,196,768]; c = broadcast_to(zeros([1,1,768]),[B,1,768]); param p : [1,197,768]; z = add(concat([c,x],1),p)",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_bug_of_a_kind_is_one_error_and_its_fix_none(kind: str) -> None:
    wrong, right = KINDS[kind]
    assert [d.severity for d in said(wrong)] == ["error"]
    assert not [d for d in said(right) if d.severity == "error"]


def test_a_sequence_without_its_last_element_is_one_shorter() -> None:
    [d] = said("in t : [B,T]; assume T >= 2; assume B >= 1; l = mse(slice_(t,1,0,T-1),t)")
    assert "T - 1" in d.message and "max" not in d.message
    assert not said("in t : [B,T]; l = mse(slice_(t,1,0,T-1),slice_(t,1,1,T))")


def test_a_size_that_facts_have_made_part_of_itself_can_be_written() -> None:
    ops = (
        "in x : [B,T]; a = slice_(x,1,0,T-1); b = slice_(x,1,1,T); c = slice_(x,1,0,-1); e = mse(a,b); f = mse(c,b);"
        " d = sub(c,x)"
    )
    assert [d.code for d in said(ops)] == ["W311"]
