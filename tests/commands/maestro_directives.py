"""MAESTRO's directives, stepped one by one: which multiplications happen where and when, and what moves.

Independent of einflow: a tile is an interval of rows of the input, not of outputs, at every level, and every step of
every unit is executed. Rules: docs/notations/maestro.md. For small layers only.
"""

import collections
import itertools

WINDOWS = {"Y": "R", "X": "S"}
TENSORS = {
    "CONV": ("NCYX", "KCRS", "NKYX"), "TRCONV": ("NCYX", "KCRS", "NKYX"), "DSCONV": ("NCYX", "CRS", "NCYX"),
    "NGCONV": ("NGCYX", "GKCRS", "NGKYX"), "GEMM": ("MK", "KN", "MN"),
}


def text_of(layers, network="net"):
    """A mapping file. A layer is {name, type, stride, dims, flow}, a directive of flow "S 1 1 K", "T 3 1 Y" or "C 4"."""
    lines = [f"Network {network} {{"]
    for number, layer in enumerate(layers):
        lines.append(f"  Layer {layer.get('name', f'L{number + 1}')} {{")
        lines.append(f"    Type: {layer['type']}")
        if layer.get("stride"):
            lines.append("    Stride { " + ", ".join(f"{d}: {v}" for d, v in layer["stride"].items()) + " }")
        lines.append("    Dimensions { " + ", ".join(f"{d}: {v}" for d, v in layer["dims"].items()) + " }")
        lines.append("    Dataflow {")
        for directive in layer["flow"]:
            kind, *rest = directive.split()
            lines.append(f"      Cluster({rest[0]}, P);" if kind == "C" else
                         f"      {'SpatialMap' if kind == 'S' else 'TemporalMap'}({rest[0]},{rest[1]}) {rest[2]};")
        lines += ["    }", "  }"]
    return "\n".join([*lines, "}", ""])


class Steps:
    """Every step of a layer on a number of PEs.

    `times_done` counts each multiplication; `needed` is how many the layer has. `traffic` is what the outermost buffer
    exchanges with the units below it that keep a tile: the units of the innermost level that has several, or of the
    first level whose successor takes more than one step."""

    def __init__(self, layer, pes):
        self.layer = layer
        self.type = layer["type"]
        self.stride = {d: layer.get("stride", {}).get(d, layer.get("stride", {}).get(d + "'", 1)) for d in WINDOWS}
        dims = dict(layer["dims"])
        for rows, taps in WINDOWS.items():
            if rows + "'" in dims:
                dims[rows] = (dims.pop(rows + "'") - 1) * self.stride[rows] + dims[taps]
        self.dims = {d: dims.get(d, 1) for d in set("".join(TENSORS[self.type]))}
        self.levels = [[]]
        self.units = []
        for directive in layer["flow"]:
            if directive.startswith("C "):
                self.units.append(int(directive.split()[1]))
                self.levels.append([])
            else:
                self.levels[-1].append(directive.split())
        inside = 1
        for units in self.units:
            inside *= units
        self.units.insert(0, pes // inside)
        tile = {d: (0, size) for d, size in self.dims.items()}
        for rows, taps in WINDOWS.items():
            if rows in self.dims:
                tile[rows + "'"] = (0, (self.dims[rows] - self.dims[taps]) // self.stride[rows] + 1)
        self.root = tile

    def positions(self, directive, level, parent):
        """Tiles that a map goes through, as intervals."""
        kind, size, offset, name = directive
        size, offset, rows = int(size), int(offset), name.rstrip("'")
        if rows not in parent:
            return rows, [(0, 1)]
        if rows in WINDOWS:
            taps = parent[WINDOWS[rows]][1] - parent[WINDOWS[rows]][0]
            stride = self.stride[rows]
            cut = any(d[0] == "S" and d[3] == WINDOWS[rows] and int(d[1]) < taps for d in level)
            if name.endswith("'"):
                size += taps - 1
            if stride > 1 and size >= taps and not cut:
                outputs = (size - taps) // stride + 1
                size, offset = (outputs - 1) * stride + taps, outputs * stride
        low, high = parent[rows]
        tiles = []
        for start in itertools.count(low, offset):
            tiles.append((min(start, high), min(start + size, high)))
            if start + size >= high:
                return rows, tiles

    def children(self, number, parent):
        """(time, unit, tile) of a level inside a tile."""
        level, units = self.levels[number], self.units[number]
        maps = [(directive[0], *self.positions(directive, level, parent)) for directive in level]
        counts = [len(tiles) if kind == "T" else -(-len(tiles) // units) for kind, _, tiles in maps]
        for time in itertools.product(*map(range, counts)):
            for unit in range(units):
                tile = dict(parent)
                for (kind, dimension, tiles), at in zip(maps, time):
                    place = at if kind == "T" else at * units + unit
                    if place >= len(tiles):
                        break
                    if dimension in tile:
                        tile[dimension] = tiles[place]
                else:
                    self.set_outputs(tile)
                    if self.work(tile):
                        yield time, unit, tile

    def set_outputs(self, tile):
        """Outputs of the level above all of whose rows are in the tile."""
        for rows, taps in WINDOWS.items():
            if rows not in tile:
                continue
            stride = self.stride[rows]
            first = -(-(tile[rows][0] - tile[taps][0]) // stride)
            end = (tile[rows][1] - tile[taps][1]) // stride + 1
            low, high = tile[rows + "'"]
            tile[rows + "'"] = (max(low, first), max(max(low, first), min(high, end)))

    def axes(self, tile):
        """The iteration space of a tile: outputs in place of rows."""
        return {d: range(*tile[d + "'" if d in WINDOWS else d]) for d in self.dims}

    def work(self, tile):
        product = 1
        for values in self.axes(tile).values():
            product *= len(values)
        return product

    def elements(self, tensor, tile):
        axes = self.axes(tile)
        names = TENSORS[self.type][tensor]
        values = []
        for d in names:
            if tensor == 0 and d in WINDOWS:
                values.append({self.stride[d] * p + r for p in axes[d] for r in axes[WINDOWS[d]]})
            else:
                values.append(axes[d])
        return set(itertools.product(*values))

    def walk(self, levels):
        """(time, unit, tile) after so many levels; time and unit are tuples of tuples."""
        def inside(number, time, unit, tile):
            if number == levels:
                yield time, unit, tile
                return
            for t, u, child in self.children(number, tile):
                yield from inside(number + 1, time + (t,), unit + (u,), child)
        yield from inside(0, (), (), self.root)

    def kept_after(self):
        """How many levels stand outside the units that keep a tile."""
        last = max((n for n, units in enumerate(self.units) if units > 1), default=0)
        tile = self.root
        for number in range(last):
            tile = next(self.children(number, tile))[2]
            if len({time for time, _, _ in self.children(number + 1, tile)}) > 1:
                return number + 1
        return last + 1

    def times_done(self):
        done = collections.Counter()
        for _, _, tile in self.walk(len(self.levels)):
            done.update(itertools.product(*(values for _, values in sorted(self.axes(tile).items()))))
        return done

    def needed(self):
        return self.work(self.root)

    def is_exact(self):
        done = self.times_done()
        return len(done) == self.needed() and set(done.values()) == {1}

    def cycles(self):
        """Steps at which some PE works, one multiplication a PE and step."""
        by_time = collections.defaultdict(set)
        for time, _, tile in self.walk(len(self.levels)):
            by_time[time].add(tuple(len(v) for _, v in sorted(self.axes(tile).items())))
        total = 0
        for boxes in by_time.values():
            total += len(set().union(*(itertools.product(*map(range, box)) for box in boxes)))
        return total

    def traffic(self, idle_units_keep=False):
        """An idle unit keeps nothing, as in docs/law.md, or what it held when it last worked."""
        by_time = collections.defaultdict(dict)
        for time, unit, tile in self.walk(self.kept_after()):
            by_time[time][unit] = [self.elements(tensor, tile) for tensor in range(3)]
        steps = [by_time[time] for time in sorted(by_time)]
        nothing = [set(), set(), set()]
        if idle_units_keep:
            return self.reads_where_idle_units_keep(steps)
        counts = {"steps": len(steps), "macs": sum(self.times_done().values())}
        for tensor, name in ((0, "input"), (1, "filter")):
            reads = 0
            for before, now in zip([{}, *steps], steps):
                reads += len(set().union(*(held[tensor] - before.get(unit, nothing)[tensor] for unit, held in now.items())))
            counts[name] = reads
        updates, written = 0, set()
        for now, after in zip(steps, [*steps[1:], {}]):
            leaving = set().union(*(held[2] - after.get(unit, nothing)[2] for unit, held in now.items()))
            updates += len(leaving)
            written |= leaving
        counts["output"] = updates
        counts["psums"] = updates - len(written)
        return counts

    @staticmethod
    def reads_where_idle_units_keep(steps):
        counts = {"input": 0, "filter": 0}
        kept = {}
        for now in steps:
            for tensor, name in ((0, "input"), (1, "filter")):
                counts[name] += len(set().union(*(held[tensor] - kept.get(unit, [set()] * 3)[tensor]
                                                  for unit, held in now.items())))
            kept.update(now)
        return counts
