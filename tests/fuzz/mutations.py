"""Files that lie: what was written, with something changed at random, from bits to whole parts."""

import json
import math

import numpy as np
from safetensors.numpy import load_file, save_file

# Numbers and lists that Python's JSON does not write as they are meant here.
_RAW = {
    "@digits": "1" * 5000,
    "@nested": "[" * 60 + "]" * 60,
    "@recursive": "[" * 100_000 + "]" * 100_000,
    "@overflow": "1e999",
    "@surrogate": '"\\ud800"',
}
_ODD = [
    None, True, False, 0, 1, -1, 2, 7, 1000, -(2**31), 2**31, 2**63, -(2**63) - 1, 10**30, 10**400, 0.5, -0.5, 1e-320,
    1e300, -1e300, 1e15,
    math.nan, math.inf, -math.inf, "", "x", "cli", "C", "tree", "nan", "é\u2028<script>", "a" * 5000,
    "C" * 2000, [], {}, [[]], [None], [1, 2, 3], ["a"], {"a": 1}, [[1.0], [2.0, 3.0]], *_RAW,
]  # fmt: skip


def mutated_bytes(content, random):
    """Bytes with a few of them changed, left out, or repeated."""
    content = bytearray(content)
    kind = random.integers(5)
    if not content or kind == 0:
        return bytes(content[: random.integers(len(content) + 1)])
    if kind == 1:
        return bytes(random.integers(0, 256, size=random.integers(200), dtype=np.uint8))
    if kind == 2:
        begin, length = random.integers(len(content)), random.integers(1, 40)
        del content[begin : begin + length]
        return bytes(content)
    if kind == 3:
        begin, length = random.integers(len(content)), random.integers(1, 40)
        return bytes(content[:begin] + content[begin : begin + length] * 2 + content[begin:])
    for place in random.integers(len(content), size=random.integers(1, 5)):
        content[place] ^= 1 << random.integers(8)
    return bytes(content)


def mutated_json(content, random):
    """JSON text of the content with a few values, keys or lengths changed; one time in five with bytes changed."""
    content = json.loads(json.dumps(content))
    if random.random() < 0.2:
        return mutated_bytes(json.dumps(content).encode(), random)
    for _ in range(random.integers(1, 4)):
        _mutate_one(content, random)
    text = json.dumps(content)
    for mark, raw in _RAW.items():
        text = text.replace(f'"{mark}"', raw)
    return text.encode()


def _mutate_one(content, random):
    """Change something somewhere: every level of lists and objects is as likely as the next."""
    parent = content
    for _ in range(random.integers(1, 12)):
        inner = [value for value in _values(parent) if isinstance(value, dict | list) and value]
        if not inner or random.random() < 0.2:
            break
        parent = inner[random.integers(len(inner))]
    if isinstance(parent, dict) and parent:
        name = list(parent)[random.integers(len(parent))]
        kind = random.integers(4)
        value = parent.pop(name) if kind < 2 else parent[name]
        if kind == 1:
            parent[f"{name}{random.integers(10)}"] = value
        elif kind > 1:
            parent[name] = _changed(value, random)
    elif isinstance(parent, list) and parent:
        place = random.integers(len(parent))
        kind = random.integers(4)
        if kind == 0:
            del parent[place]
        elif kind == 1:
            parent.insert(place, parent[place])
        elif kind == 2:
            other = random.integers(len(parent))
            parent[place], parent[other] = parent[other], parent[place]
        else:
            parent[place] = _changed(parent[place], random)


def _values(parent):
    return list(parent.values()) if isinstance(parent, dict) else list(parent)


def _changed(value, random):
    """Another value: mostly of any type, and sometimes one that is nearly right."""
    near = random.random() < 0.4
    if near and isinstance(value, bool):
        return not value
    if near and isinstance(value, int | float):
        factors = [value + 1, value - 1, -value, value * 1000, value * 0.5, float(value)]
        return factors[random.integers(len(factors))]
    if near and isinstance(value, str):
        place = random.integers(len(value) + 1)
        return value[:place] + "C1(=[#\n"[random.integers(7)] + value[place:]
    if near and isinstance(value, list):
        return value * 2 if random.random() < 0.5 else value[: len(value) // 2]
    return _ODD[random.integers(len(_ODD))]


def mutated_array(array, random):
    """Another shape, another type, or other values."""
    kind = random.integers(8)
    if kind == 0:
        return array[: len(array) // 2] if array.ndim else array.reshape(1)
    if kind == 1:
        return np.concatenate([array, array]) if array.ndim else np.zeros(2, array.dtype)
    if kind == 2:
        return array.reshape(-1, 1) if array.ndim != 2 else array.T.copy()
    if kind == 3:
        with np.errstate(all="ignore"):  # of blanks and large numbers
            return array.astype(["float16", "float32", "float64", "int8", "int64", "uint8", "bool"][random.integers(7)])
    if kind == 4:
        return np.zeros([0] * max(array.ndim, 1), array.dtype)
    array = array.copy()
    if array.size:
        values = [np.nan, np.inf, -1, 0, 1, 2**31 - 1, 1e30, -(2**31), 127, 255]
        with np.errstate(all="ignore"):
            array.flat[random.integers(array.size)] = np.array(values[random.integers(len(values))]).astype(array.dtype)
    return array


def mutate_tensors(path, random):
    """Change a .safetensors file."""
    if random.random() < 0.3:
        path.write_bytes(mutated_bytes(path.read_bytes(), random))
        return
    tensors = dict(load_file(path))
    save_file(_mutated_dict(tensors, random), path)


def mutate_npz(path, random):
    """Change a .npz file."""
    if random.random() < 0.4:
        path.write_bytes(mutated_bytes(path.read_bytes(), random))
        return
    with np.load(path, allow_pickle=False) as content:
        arrays = dict(content)
    np.savez(path, allow_pickle=False, **_mutated_dict(arrays, random))


def _mutated_dict(arrays, random):
    name = sorted(arrays)[random.integers(len(arrays))]
    kind = random.integers(6)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[f"{name}x"] = arrays.pop(name)
    else:
        arrays[name] = mutated_array(arrays[name], random)
    return arrays
