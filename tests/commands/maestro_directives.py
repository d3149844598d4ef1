"""MAESTRO's directives, stepped one by one: which multiplications happen where and when, and what moves.

Also what MAESTRO prints for them, by its own rules (Printed; of any size). Independent of einflow: a tile is an
interval of rows of the input, not of outputs, at every level. Steps executes every step of every unit, for small layers
only. Rules: docs/notations/maestro.md.
"""

import collections
import itertools
import math

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


class Printed:
    """What MAESTRO prints of its outermost level, counted by its own rules.

    A map is at its first position, at a full one or at its edge. MAESTRO evaluates each combination of these, a case,
    once and multiplies. Of the maps that have left their first position it takes the innermost for the one that moves.
    `mended`: causes (tests/reference/maestro/README.md) that are left out, which shows what each of them does."""

    MENDABLE = {"wrap-around-lost", "halo-not-shared", "clipped-in-full", "one-unit-short", "clusters-keep",
                "rows-without-output", "every-step-written", "tiles-without-stride", "neighbours-without-stride",
                "rows-as-outputs", "output-coupled-with-C", "batch-forgotten"}
    FIRST, FULL, EDGE = range(3)
    Map = collections.namedtuple("Map", "spatial size offset name")
    State = collections.namedtuple("State", "position times one_step edge cut_unit")

    def __init__(self, layers, number, pes, mended=()):
        self.mended = frozenset(mended)
        layer = layers[number]
        self.names = [set(names) for names in TENSORS[layer["type"]]]
        first = next(other for other in layers if other["type"] == layer["type"])
        coupled = layer if "batch-forgotten" in self.mended else first
        if layer["type"] != "GEMM" and "N" not in coupled["dims"]:
            self.names = [names - {"N"} for names in self.names]
        if layer["type"] == "NGCONV" and "output-coupled-with-C" not in self.mended:
            self.names[2].add("C")
        self.set_sizes(layer)
        self.set_maps(layer["flow"], pes)
        self.set_tiles()
        self.states = [self.spatial_states(m) if m.spatial else self.temporal_states(m) for m in self.maps]

    def set_sizes(self, layer):
        self.sizes = dict(layer["dims"])
        strides = layer.get("stride", {})
        self.stride = {rows: strides.get(rows, 1) for rows in WINDOWS}
        self.shortened = set()
        for rows, taps in WINDOWS.items():
            if rows + "'" in self.sizes:
                self.sizes[rows] = self.sizes[rows + "'"] + self.sizes[taps] - 1
                self.stride[rows] = strides.get({"Y": "X'", "X": "Y'"}[rows], 1)
            if rows in self.sizes and "rows-without-output" in self.mended:
                unused = (self.sizes[rows] - self.sizes[taps]) % self.stride[rows]
                self.sizes[rows] -= unused
                self.shortened |= {rows} if unused else set()

    def set_maps(self, flow, pes):
        clusters = [directive.split() for directive in flow if directive.startswith("C ")]
        self.units = pes // math.prod(int(units) for _, units in clusters)
        top = [directive.split() for directive in itertools.takewhile(lambda d: not d.startswith("C "), flow)]
        self.spread = {d.split()[3].rstrip("'"): int(d.split()[1]) for d in flow[len(top):] if d.startswith("S ")}
        written = {name: int(size) for _, size, _, name in top}
        top += [("T", self.sizes[d], self.sizes[d], d) for d in sorted(self.names[0] | self.names[1])
                if d not in written and d + "'" not in written]
        self.maps = []
        for kind, size, offset, name in top:
            size, offset, rows = int(size), int(offset), name.rstrip("'")
            if name != rows:
                size += written[WINDOWS[rows]] - 1
            taps, stride = self.sizes.get(WINDOWS.get(rows)), self.stride.get(rows, 1)
            if stride > 1 and size >= taps:
                outputs = (size - taps) // stride + 1
                size, offset = (outputs - 1) * min(stride, taps) + taps, outputs * stride
                if rows in self.shortened:  # rows between the windows are not in the size
                    self.sizes[rows] -= (outputs - 1) * max(stride - taps, 0)
            self.maps.append(self.Map(kind == "S", size, offset, rows))

    def set_tiles(self):
        """Of a tile and of one at the edge: all, and what the one before did not have. Y' and X' are its outputs."""
        self.all, self.new, self.edge_all, self.edge_new = {}, {}, {}, {}
        for spatial, size, offset, name in self.maps:
            steps = max((self.sizes[name] - size) // offset, 0)
            left = self.sizes[name] - (steps + 1) * offset
            left = self.sizes[name] if left < 0 else left
            cut = size != self.sizes[name] - steps * offset
            self.all[name] = size
            self.new[name] = min(size, offset) if spatial or size < self.sizes[name] else 0
            self.edge_all[name] = left if cut else size
            self.edge_new[name] = max(offset - (size - left), 0)
            if not cut and ("one-unit-short" in self.mended or name in self.shortened):
                self.edge_new[name] = self.new[name]
        for _, size, offset, rows in self.maps:
            if rows not in WINDOWS:
                continue
            taps, outputs, stride = WINDOWS[rows], rows + "'", self.stride[rows]
            if "tiles-without-stride" not in self.mended:
                stride = 1
            self.all[outputs] = offset // stride if stride > 1 else self.all[rows] - self.all[taps] + 1
            self.edge_all[outputs] = (self.edge_all[rows] - self.edge_all[taps]) // stride + 1
            self.new[outputs] = min(size, offset)
            if "neighbours-without-stride" in self.mended:
                self.new[outputs] = min(self.new[outputs], self.all[outputs])
            self.edge_new[outputs] = min(offset, self.edge_all[outputs])
            if rows in self.shortened and self.edge_all[rows] == size:
                self.edge_new[outputs] = self.new[outputs]

    def temporal_states(self, m):
        extent = self.sizes[m.name]
        steps = (extent - m.size) // m.offset
        states = [self.State(self.FIRST, 1, extent <= m.size, extent < m.size, False)]
        if steps > 0:
            states.append(self.State(self.FULL, steps, False, False, False))
        if m.size < extent and m.size + steps * m.offset < extent:
            states.append(self.State(self.EDGE, 1, False, True, False))
        return states

    def spatial_states(self, m):
        """Also how many units work at the edge. `cut_unit`: the last of them is charged with an edge tile."""
        extent, fold = self.sizes[m.name], m.offset * self.units
        covered = fold - m.offset + m.size
        positions = (extent - m.size) // m.offset + 1
        if extent <= covered:
            self.edge_units = 1
            if extent > m.size:
                self.edge_units = positions + ((positions - 1) * m.offset + m.size < extent)
            return [self.State(self.FIRST, 1, True, extent < covered, extent < covered)]
        folds = positions // self.units
        self.left = extent - folds * fold
        self.edge_units = 1 if self.left < m.size else (self.left - m.size) // m.offset + 1
        states = [self.State(self.FIRST, 1, False, False, False)]
        if folds > 1:
            states.append(self.State(self.FULL, folds - 1, False, False, False))
        if folds * fold + covered > extent and (folds - 1) * fold + covered != extent:
            cut_unit = (self.edge_units - 1) * m.offset + m.size < self.left
            states.append(self.State(self.EDGE, 1, False, True, cut_unit))
        return states

    def over_units(self, tensor, case, volume):
        """The sum of volume(whether it is the first unit, whether it has the edge tile)."""
        state = next((s for m, s in zip(self.maps, case) if m.spatial and m.name in self.names[tensor]), None)
        if state is None:
            return volume(True, False)
        if not state.edge:
            return volume(True, False) + (self.units - 1) * volume(False, False)
        if self.edge_units == 1:
            return volume(True, state.cut_unit)
        full = max(self.edge_units - 1 - state.cut_unit, 0)
        return volume(True, False) + full * volume(False, False) + state.cut_unit * volume(False, True)

    def moving(self, case):
        return max((at for at, state in enumerate(case) if state.position != self.FIRST), default=None)

    def begins_again(self, tensor, case):
        """Whether a loop over the tensor inside the one that moves does."""
        moving = self.moving(case)
        return moving is not None and any(
            m.name in self.names[tensor] and state.position == self.FIRST and not state.one_step
            for m, state in zip(self.maps[moving + 1:], case[moving + 1:]))

    def read(self, tensor, case, first, last):
        moving, again = self.moving(case), self.begins_again(tensor, case)
        if moving is not None and self.maps[moving].name not in self.names[tensor]:
            if not (again and "wrap-around-lost" in self.mended):
                return 0
        volume = 1
        for at, (m, state) in enumerate(zip(self.maps, case)):
            if m.name in self.names[tensor]:
                slides = at == moving and not again
                if m.spatial:
                    inside = moving is not None and at > moving
                    shared = not first and (inside if state.position == self.FIRST else slides)
                    volume *= self.read_by_unit(m, state, first, last, shared)
                else:
                    volume *= self.read_in_step(m, state, slides)
        return volume

    def read_in_step(self, m, state, slides):
        if "clusters-keep" in self.mended and self.spread.get(m.name, math.inf) <= m.offset:
            slides = False
        if state.edge and (state.position == self.FIRST or "clipped-in-full" in self.mended):
            return self.edge_new[m.name] if slides else self.edge_all[m.name]
        return max(self.new[m.name], 1) if slides else self.all[m.name]

    def read_by_unit(self, m, state, first, last, shared):
        if shared:
            return self.edge_new[m.name] if last else self.new[m.name]
        tile = self.edge_all[m.name] if last else self.all[m.name]
        if "clipped-in-full" in self.mended and state.position == self.EDGE and self.edge_units == 1:
            tile = min(self.left, m.size)
        if "halo-not-shared" in self.mended and not first:
            tile = max(tile - max(m.size - m.offset, 0), 0)
        return tile

    def written(self, case, first, last, names=None, mended=frozenset()):
        volume = 1
        for m, state in zip(self.maps, case):
            if m.name not in (names or self.names[2]):
                continue
            name = m.name + "'" if m.name in WINDOWS and m.name in self.names[2] else m.name
            if not m.spatial:
                volume *= self.edge_all[name] if state.edge else self.all[name]
            elif state.position == self.EDGE and self.edge_units == 1:
                volume *= self.edge_all[name if "rows-as-outputs" in mended else m.name]
            elif last and state.edge:
                volume *= self.edge_all[name] if self.edge_units == 1 else self.edge_new[name]
            else:
                volume *= self.all[name] if first else self.new[name] or 1
        return volume

    def works(self, case):
        """Whether the first unit multiplies anything; where it does not, MAESTRO reads nothing, but writes."""
        last = any(m.spatial and m.name in self.names[2] and state.cut_unit for m, state in zip(self.maps, case))
        return self.written(case, True, last and self.edge_units == 1, {m.name for m in self.maps}) > 0

    def counts(self):
        found = collections.Counter()
        for case in itertools.product(*self.states):
            times = math.prod(state.times for state in case)
            moving = self.moving(case)
            if ("every-step-written" not in self.mended or moving is None or self.begins_again(2, case)
                    or self.maps[moving].name in self.names[2]):
                found["output_writes"] += times * self.over_units(
                    2, case, lambda first, last: self.written(case, first, last, mended=self.mended))
            for tensor, name in ((0, "input_reads"), (1, "filter_reads")):
                if self.works(case):
                    found[name] += times * self.over_units(
                        tensor, case, lambda first, last: self.read(tensor, case, first, last))
        return found
