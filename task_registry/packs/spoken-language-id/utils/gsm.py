"""Decodes GSM 06.10 full-rate speech, many recordings at once, with numpy alone.

After the European standard ETS 300 961 (GSM 06.10), in floating point instead of its 16-bit arithmetic. Only sums,
products and comparisons of single numbers are used, so that all machines find the same samples.
"""

from __future__ import annotations

import numpy as np

FRAME_BYTES, FRAME, PART = 33, 160, 40
"""A frame of 33 bytes holds 160 samples, a fiftieth of a second, in four parts of 40."""
RATE = 8000
"""Samples a second."""
PULSES = 13

# Bits of the eight logarithmic area ratios; scale and offset with which they were rounded (table 3.1 of the standard).
RATIO_BITS = (6, 6, 5, 5, 4, 4, 3, 3)
RATIO_SCALE = np.array((20, 20, 20, 20, 13.637, 15, 8.334, 8.824))
RATIO_OFFSET = np.array((0, 0, 4, -5, 0.184, -3.5, -0.666, -2.235))
# Share of the frame before in the ratios of the first samples of a frame, and the sample that ends its reign.
BLEND = ((0.75, 13), (0.5, 27), (0.25, 40), (0.0, 160))
GAINS = np.array((0.1, 0.35, 0.65, 1.0))
LEAST_LAG, MOST_LAG = 40, 120
EMPHASIS = 28180 / 32768


def decode(recordings: list[bytes]) -> list[np.ndarray]:
    """The samples of each recording, as 16-bit numbers.

    Raises:
        ValueError: Something is not a row of whole frames.
    """
    for data in recordings:
        if not data or len(data) % FRAME_BYTES or any(byte >> 4 != 0xD for byte in data[::FRAME_BYTES]):
            raise ValueError(f"{len(data)} bytes are not a row of GSM frames")
    frames = max(len(data) for data in recordings) // FRAME_BYTES
    packed = np.zeros((len(recordings), frames, FRAME_BYTES), dtype=np.uint8)
    for row, data in enumerate(recordings):
        packed[row].reshape(-1)[: len(data)] = np.frombuffer(data, np.uint8)
    sound = _synthesis(*_unpacked(packed))
    return [samples[: len(data) // FRAME_BYTES * FRAME] for samples, data in zip(sound, recordings, strict=True)]


def _unpacked(packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reflection coefficients (recordings, frames, blends, 8) and excitation (recordings, samples)."""
    bits = np.unpackbits(packed, axis=2)
    at = 4  # the signature

    def take(width: int) -> np.ndarray:
        nonlocal at
        value = np.zeros(bits.shape[:2], dtype=np.int64)
        for _ in range(width):
            value = value * 2 + bits[:, :, at]
            at += 1
        return value

    codes = np.stack([take(width) - (1 << (width - 1)) for width in RATIO_BITS], axis=2)
    ratios = (codes - RATIO_OFFSET) / RATIO_SCALE
    before = np.concatenate((np.zeros_like(ratios[:, :1]), ratios[:, :-1]), axis=1)
    blended = np.stack([share * before + (1 - share) * ratios for share, _ in BLEND], axis=2)
    recordings, frames = bits.shape[:2]
    excitation = np.zeros((recordings, MOST_LAG + frames * FRAME))
    lags, gains, pulses = [], [], []
    for _ in range(FRAME // PART):
        lags.append(take(7))
        gains.append(GAINS[take(2)])
        grid, height = take(2), _heights()[take(6)]
        comb = np.zeros((recordings, frames, PART))
        for number in range(PULSES):
            place = (grid + 3 * number)[:, :, None]
            np.put_along_axis(comb, place, ((2 * take(3) - 7) * height)[:, :, None], axis=2)
        pulses.append(comb)
    lag = np.full(recordings, LEAST_LAG)
    for frame in range(frames):
        for part in range(FRAME // PART):
            told = lags[part][:, frame]
            lag = np.where((told >= LEAST_LAG) & (told <= MOST_LAG), told, lag)
            start = MOST_LAG + frame * FRAME + part * PART
            places = start - lag[:, None] + np.arange(PART)
            echo = gains[part][:, frame, None] * np.take_along_axis(excitation, places, axis=1)
            excitation[:, start : start + PART] = pulses[part][:, frame] + echo
    return _reflections(blended), excitation[:, MOST_LAG:]


def _heights() -> np.ndarray:
    """The height of one step of a pulse, for each of the 64 codes of the largest pulse of a part."""
    heights = []
    for code in range(64):
        exponent = (code >> 3) - 1 if code > 15 else 0
        mantissa = code - (exponent << 3)
        if mantissa == 0:
            exponent, mantissa = -4, 7
        else:
            while mantissa <= 7:
                mantissa, exponent = mantissa << 1 | 1, exponent - 1
            mantissa -= 8
        heights.append((18431 + 2048 * mantissa) / 8 / 2.0 ** (6 - exponent))
    return np.array(heights)


def _reflections(ratios: np.ndarray) -> np.ndarray:
    """Reflection coefficients of logarithmic area ratios: the standard's line in three pieces."""
    size = np.abs(ratios)
    found = np.where(size < 0.675, size, np.where(size < 1.225, 0.5 * size + 0.3375, 0.125 * size + 0.796875))
    return np.copysign(np.minimum(found, 32767 / 32768), ratios)


def _synthesis(reflections: np.ndarray, excitation: np.ndarray) -> np.ndarray:
    """Sound: the excitation through the lattice filter of the vocal tract, and its treble lowered."""
    recordings, samples = excitation.shape
    sound = np.zeros((samples, recordings), dtype=np.int16)
    driving = np.ascontiguousarray(excitation.T)
    state = np.zeros((9, recordings))
    product, last = np.zeros(recordings), np.zeros(recordings)
    for frame in range(samples // FRAME):
        start = 0
        for blend, (_, end) in enumerate(BLEND):
            steps = np.ascontiguousarray(reflections[:, frame, blend].T)
            for sample in range(frame * FRAME + start, frame * FRAME + end):
                wave = driving[sample]
                for stage in range(7, -1, -1):
                    np.multiply(steps[stage], state[stage], out=product)
                    wave -= product
                    np.multiply(steps[stage], wave, out=product)
                    np.add(state[stage], product, out=state[stage + 1])
                state[0] = wave
                last *= EMPHASIS
                last += wave
                # Twice the value, without its three lowest bits, as telephones did.
                sound[sample] = np.clip(np.floor(last / 4) * 8, -32768, 32760)
            start = end
    return sound.T
