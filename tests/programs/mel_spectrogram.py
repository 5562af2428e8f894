"""The logarithm of a mel spectrogram, frame by frame."""

import numpy as np

SIZES = [{"b": 2, "t": 50, "length": 16, "hop": 5, "m": 4}, {"b": 1, "t": 9, "length": 9, "hop": 2, "m": 1}]


def inputs(draw, b, t, length, hop, m):
    return draw.numbers(b, t, dtype="float64"), length, hop, m, np.array(16000.0)


def filters(m, bins, rate):
    top = 2595 * np.log10(1 + rate / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, m + 2) / 2595) - 1)
    made = np.zeros((m, bins))
    for j, frequency in enumerate(np.linspace(0, rate / 2, bins)):
        for i, (low, middle, high) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
            made[i, j] = max(0, min((frequency - low) / (middle - low), (high - frequency) / (high - middle)))
    return made


def mel_spectrogram(signal, length, hop, m, rate):
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    frames = [signal[:, i : i + length] * window for i in range(0, signal.shape[1] - length + 1, hop)]
    power = np.stack([np.abs(np.fft.rfft(frame)) ** 2 for frame in frames], axis=-1)
    return np.log(filters(m, length // 2 + 1, rate) @ power + 1e-6)
