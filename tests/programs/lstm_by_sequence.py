"""A tagger over a bidirectional LSTM, sentence by sentence."""

import numpy as np
from programs.plain import lstm

SIZES = [{"b": 2, "t": 4, "v": 7, "d": 3, "h": 2, "tags": 5}, {"b": 1, "t": 1, "v": 2, "d": 1, "h": 3, "tags": 1}]


def inputs(draw, b, t, v, d, h, tags):
    weights = draw.numbers(2, 4 * h, d), draw.numbers(2, 4 * h, h), draw.numbers(2, 8 * h)
    return draw.integers(v, b, t), draw.numbers(v, d), *weights, draw.numbers(tags, 2 * h)


def lstm_by_sequence(ids, words, w, r, bias, classify):
    tagged = []
    for sentence in words[ids]:
        there = lstm(sentence, w[0], r[0], bias[0])
        back = lstm(sentence[::-1], w[1], r[1], bias[1])[::-1]
        tagged.append(np.concatenate([there, back], axis=-1) @ classify.T)
    return np.stack(tagged)
