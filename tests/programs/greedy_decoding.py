"""Greedy decoding, token by token."""

import numpy as np

SIZES = [{"s": 3, "v": 6, "d": 4, "most": 9}, {"s": 1, "v": 2, "d": 3, "most": 5}, {"s": 2, "v": 4, "d": 2, "most": 0}]
DECIDED = True  # how long the text becomes is decided by the data


def inputs(draw, s, v, d, most):
    return draw.integers(v, s), draw.numbers(v, d), draw.numbers(d, d), draw.numbers(d, d), np.array(1), most


def greedy_decoding(start, words, w, u, end, most):
    text, state = list(start), np.zeros(w.shape[0])
    for token in text[:-1]:
        state = np.tanh(w @ words[token] + u @ state)
    while len(text) < len(start) + most and text[-1] != end:
        state = np.tanh(w @ words[text[-1]] + u @ state)
        text.append(int(np.argmax(words @ state)))
    return np.array(text)
