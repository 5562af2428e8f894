"""How likely each kind of fix is what was meant: a row for each, with the reason. Families name a row; no other module has
numbers."""

from __future__ import annotations

# A lower weight is likelier. Rows that begin with `+` are added to another one.
_TABLE = """
1 name: a name close to an existing one
1 pads as pairs: one reading of the pads that another library takes
1 word: the attribute takes few words, and this is close to one of them
4 carry: a carry's declared size changes from turn to turn
8 where true: a mask is not an index; its true positions are
8 kept rows: an index that is a mask keeps rows
9 kept elements: the same for single elements, which is meant less often
9 shifted targets: the other operand is cut at one end, so this one is at the other
9 axis of two: one of two axes is outside of the shape
10 axis in range: the written axis does not exist
10 tensor of a size: only its dtype is open
10 argument as elsewhere: another call of the function has a different one
10 swap that fits: each operand fits the other place
10 one-hot: labels are indices, but probabilities are required
10 recalled: nothing uses the tensor, and another one is used twice: likelier than moved axes
10 less cut off: a slice that keeps one element more
11 more cut off: a slice that keeps one element less
11 axes of two: both axes count from the other end
11 choice: an `if` over a tensor is a @where
11 needless: the operand was transposed, and fits untransposed
11 other new axis: the new axis stands in another place
11 second transposed: of a product the second operand is likelier
12 transpose: the sizes are those of the transpose
12 parts as names: the number of names says how many parts
12 kept axis: a broadcast works with it
12 all decide: the condition of all elements
12 last index: an index one behind the last
13 one decides: the condition of any element
13 axis: another axis has the size
13 start and end: they are exchanged
13 kept axis of a typo: a reduction without `keepdims`
13 order: two axes of an order changed places
13 mixed up: only the name distinguishes a size from the wanted one
14 swap: two operands, without evidence that they fit otherwise
14 groups: the weight takes one channel of a group, or groups are written
14 dropped axis of a typo: a reduction with `keepdims`
14 elsewhere: another call's result goes through it
14 last of a range: the size in question is one less
14 declared shape: as many elements, and no axis of one among them
14 shape as elsewhere: the function makes this shape of something else
14 each side: height and width are the same number
14 number that divides: heads that divide their size
14 fitting axis: nothing else makes it broadcast
15 entry: a number of a reshape
15 usual order: channels first or last
15 spread: the sizes are those of the other operand, in order
15 typed axis: an axis nearby
15 arguments: two arguments changed places
15 pads before: causal padding that is there in part
16 moved axes: an order of axes that is not the usual one
16 enlarged: all spatial axes are a multiple
16 pads that keep: the size is kept
16 left out: the call only moves axes
16 indexed: the index stands one axis off
17 swapped axes: two axes that are not the last
17 unused name: a tensor that nothing uses
17 window: other pads or strides
17 merged: the product of other axes
17 divided by one: nobody divides by one
17 leaf as elsewhere: another call of the same form has a different one
18 cast: to the dtype of the other operand
18 all turned: all tensors come with the batch first
18 layout of input: the input is channels last
18 sizes: two sizes of a reshape changed places
18 repeated: heads that are shared by others
18 pads by one: one more or less on each side
18 number: one too large or too small
18 size name: another size of the scope
19 dropped axis: it has one element
19 kept axis elsewhere: a reduction above the call, which may not belong to a broadcast
19 layout: several axes conflict
19 broadcast: to the declared shape
19 new argument as elsewhere: it is not written here
19 pads before alone: causal padding where there is none
19 exchanged: two parameters in each other's place; as likely as a transpose of each, which takes as many edits
19 uncut: the other operand is cut, and it is used elsewhere uncut
19 axes to one: the product of axes is wanted
19 axis of indices: the indices lack the axis that they stand for
20 new axis: of one element
20 shape before an order: the order takes as many axes
20 outer: each element should meet each
21 new axes: several of one element
21 new axis anywhere: of one element, where the size is open
21 states: a layer's states have an axis of their directions
21 swapped where known: one of many arrangements of known sizes
21 whole slice: the slice would be removed
22 merged where known: one of many arrangements of known sizes
22 least: the smallest number that the attribute takes
22 new inner axis: neither first nor last
22 axis of a caller: in the function above, which may be right for others
22 repeated to join: a joined tensor has one element there
22 split axis: an axis is declared as a product
22 size one off: `n - 1` for `n`
23 call left out: the call itself only moves axes
23 reshape as declared: other axes, the first of which stays
24 flatten: rows are kept
24 used name: a tensor that is used elsewhere
25 flattened first: all axes, to broadcast
25 flattened before: the first layer that takes rows
26 reshape: to the wanted sizes
26 rows of labels: rows were laid end to end
26 resized: `@upsample` to `@resize`
28 axis of one moved: dropping an axis of one element is likelier
28 open entry: a -1 of a reshape
29 kept rows of a reshape: an earlier reshape mixed them
30 first axis kept: a -1 for the rest
30 mean: an image before a layer of rows
31 each number: several operands have the same wrong size
31 legal size: the nearest numbers that a condition allows
31 parts: the nearest numbers that divide
31 joined: along an existing axis
31 another: no part of an annotation fits, so it was written for another tensor
31 repeated whole: the sizes of a product divide
32 number of a size: the literal that a size was made of
33 shared size: a parameter shares its shape with another
34 declared size: a parameter's annotation
34 operand of a reshape: the tensor rather than the target
35 uncut, used once: the same, if nothing else uses it
36 as declared: the literal of a value that is annotated
37 repeated axis: without evidence that it repeats
38 groups of any weight: a weight that may be wrong itself
46 rows mixed: a reshape that makes other rows, or lays elements of one axis across others
52 layout alone: only the layout is blamed
60 giving way: the annotation takes the actual sizes, which may hide the mistake
61 declared rank: the parameter takes the annotation's rank
65 number of mixed rows: an earlier reshape mixed them, and no number elsewhere repairs that
99 dimension: a parameter takes the size of another axis, which demands less than one name for both
100 condition: from here on nothing is fixed: the program only states its conditions
140 asserted: the run checks it
150 unproved: without evidence that the annotation is wrong
+2 of a parameter: a parameter's type is less likely wrong
+2 named here: the statement names it already
+2 where bound: the place of its use is likelier
+4 loses: the cast drops fractions or signs
+4 unlike: sizes that are written differently are seldom equal
+4 other axes: a tensor with another number of axes
+5 aside: the message does not blame the argument
+6 taken: a function accepted its arguments as they are
+6 not of numbers: the names in both sizes are the same, so a number is wrong
+7 written axes: axes are seldom written without need
+10 listed: one of many calls that another library has
+26 result open: no declared result would show it
-6 divided: the size in question is divided by the strides
"""
_WEIGHTS = {
    name: int(number) for number, name in (row.partition(": ")[0].split(" ", 1) for row in _TABLE.split("\n")[1:-1])
}


def weight(name: str) -> int:
    return _WEIGHTS[name]


# From the first weight on, a typo is as likely as a changed operation; from the second on, a fix is a guess.
UNLIKELY, FAR_FETCHED = 30, 40
GIVING_WAY, CONDITION = weight("giving way"), weight("condition")
