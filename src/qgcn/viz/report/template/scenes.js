// The views: where the nodes of a graph stand in each of them, and what is drawn around.

const MOST_ARROWS = 5000;

const circle = (count, point) => Array.from({ length: count + 1 }, (_, k) => point((2 * Math.PI * k) / count));

// The scenes of a graph: where its nodes stand in each view.
const Scenes = {
  sphere(graph) {
    const guides = [];
    for (let k = 1; k < 6; k++) {
      const polar = (Math.PI * k) / 6;
      guides.push(circle(72, (a) => [Math.sin(polar) * Math.cos(a), Math.sin(polar) * Math.sin(a), Math.cos(polar)]));
    }
    for (let k = 0; k < 6; k++) {
      const a = (Math.PI * k) / 6;
      guides.push(circle(72, (b) => [Math.sin(b) * Math.cos(a), Math.sin(b) * Math.sin(a), Math.cos(b)]));
    }
    return { kind: "sphere", positions: graph.layouts.sphere, count: graph.count, guides, fade: 0.86, globe: 1,
      turn: times(turnAbout("x", -1.1), turnAbout("z", 0.4)) };
  },
  hyperboloid(graph) {
    const at = graph.layouts.hyperboloid, heights = [];
    for (let k = 0; k < graph.count; k++) heights.push(at[3 * k + 2]);
    heights.sort((a, b) => a - b);
    const top = Math.max(1.6, heights[heights.length - 1] * 1.03), guides = [], widest = Math.acosh(top);
    for (let k = 1; k <= 8; k++) {
      const reach = (widest * k) / 8;
      guides.push(circle(96, (a) => [Math.sinh(reach) * Math.cos(a), Math.sinh(reach) * Math.sin(a), Math.cosh(reach)]));
    }
    for (let k = 0; k < 16; k++) {
      const a = (2 * Math.PI * k) / 16;
      guides.push(Array.from({ length: 33 }, (_, n) => { const reach = (widest * n) / 32; return [Math.sinh(reach) * Math.cos(a), Math.sinh(reach) * Math.sin(a), Math.cosh(reach)]; }));
    }
    const tilt = -1.0;
    return { kind: "hyperboloid", positions: at, count: graph.count, guides, upright: true, tilt, turn: turnAbout("x", tilt), centre: [0, 0, 0.5 + 0.82 * top], scale: 1 / (1.06 * Math.sinh(widest)) };
  },
  disk(graph) {
    const guides = [1, 2, 3, 4].map((reach) => circle(120, (a) => [Math.sinh(reach) * Math.cos(a), Math.sinh(reach) * Math.sin(a), Math.cosh(reach)]));
    for (let k = 0; k < 6; k++) {
      const a = (Math.PI * k) / 6;
      guides.push(Array.from({ length: 81 }, (_, n) => { const reach = (n - 40) / 5; return [Math.sinh(reach) * Math.cos(a), Math.sinh(reach) * Math.sin(a), Math.cosh(reach)]; }));
    }
    return { kind: "disk", positions: graph.layouts.hyperboloid, count: graph.count, guides, disk: true, margin: 0.94 };
  },
  exact(graph) {
    const view = graph.embedded.exact, positions = new Float32Array(3 * graph.count), raw = [];
    for (let k = 0; k < graph.count; k++) raw.push(graph.exact(k));
    if (view.shape === "disk") {
      const farthest = raw.reduce((most, p) => Math.max(most, Math.hypot(p[0], p[1])), 0.2), high = raw.some((p) => p[2] !== 0);
      const place = (p) => [p[0], p[1], p[2] * farthest];
      raw.forEach((p, k) => positions.set(place(p), 3 * k));
      const rings = [1, 2, 3, 4, 5, 6].map((reach) => Math.tanh(reach / 2)).filter((radius) => radius < 1.1 * farthest);
      const guides = rings.map((radius) => circle(120, (a) => [radius * Math.cos(a), radius * Math.sin(a), 0]));
      return { kind: "exact", shape: "disk", raw: place, positions, count: graph.count, guides, flat: !high, scale: 1 / farthest, axes: view.axes };
    }
    if (view.shape !== "plane") {
      const highest = raw.reduce((most, p) => Math.max(most, Math.hypot(...p) - 1), 0), most = highest > 0 ? 1.9 : 1;
      // heights in proportion, the highest nearly as high as the globe's radius
      const place = (p) => { const length = Math.hypot(...p), grown = 1 + (highest > 0 ? (0.9 * (length - 1)) / highest : 0); return p.map((value) => (value * grown) / length); };
      raw.forEach((p, k) => positions.set(place(p), 3 * k));
      const sphere = Scenes.sphere(graph), mean = [0, 1, 2].map((axis) => raw.reduce((sum, p) => sum + p[axis] / Math.hypot(...p), 0));
      const facing = times(turnAbout("x", -0.35), times(turnAbout("y", -Math.atan2(mean[0], mean[2]) + 0.35), IDENTITY));
      const guides = view.shape === "shell" ? sphere.guides : [circle(160, (a) => [Math.cos(a), Math.sin(a), 0]),
        ...Array.from({ length: 12 }, (_, k) => [0, 1].map((end) => [Math.cos((k * Math.PI) / 6) * (end ? most : 1), Math.sin((k * Math.PI) / 6) * (end ? most : 1), 0]))];
      return { kind: "exact", shape: view.shape, raw: place, positions, count: graph.count, guides, globe: view.shape === "shell" ? 1 : 0, scale: 1 / most,
        flat: view.shape === "ring", fade: view.shape === "shell" ? 0.7 : 0, turn: view.shape === "shell" ? facing : undefined, axes: view.axes };
    }
    return { kind: "exact", ...plane(raw, view.axes) };
  },
  time(graph) {
    const at = graph.layouts.time, raw = Array.from({ length: graph.count }, (_, k) => [at[2 * k], at[2 * k + 1]]);
    return { kind: "time", ...plane(raw, ["where points differ most, apart from time", "time"]), straight: true };
  },
};

// Points of a plane with axes, stretched to fill the picture.
function plane(raw, axes) {
  const positions = new Float32Array(3 * raw.length);
  const bounds = [0, 1].map((axis) => { const [low, high] = Charts.extent(raw.map((p) => p[axis])), room = (high - low || 1) * 0.04; return [low - room, high + room]; });
  const place = (p) => [0, 1].map((axis) => (2 * (p[axis] - bounds[axis][0])) / (bounds[axis][1] - bounds[axis][0]) - 1).concat(0);
  raw.forEach((p, k) => positions.set(place(p), 3 * k));
  return { shape: "plane", raw: place, positions, count: raw.length, flat: true, stretch: true, margin: 0.84, bounds, axes };
}

// Heads of the arrows of directed edges, on straight lines.
const Arrows = {
  shown: ({ stage, graph, edges }) => Boolean(stage.scene && stage.scene.straight && graph.ways && edges.value !== "none" && graph.ways.length <= MOST_ARROWS),
  draw(context, explorer) {
    const { stage, graph, ink, selected } = explorer, wanted = explorer.edges.value, size = stage.pointSize(), head = 7;
    if (!Arrows.shown(explorer)) return;
    const { left, right, top, bottom } = stage.box();
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    graph.ways.forEach((way, k) => {
      const ends = [graph.edges[2 * k], graph.edges[2 * k + 1]], chosen = ends.includes(selected);
      if (wanted === "selected" && !chosen) return;
      context.fillStyle = chosen ? ink.accent : ink.faint;
      for (const [bit, source, target] of [[1, ends[0], ends[1]], [2, ends[1], ends[0]]]) {
        const [ax, ay] = stage.screenOf(source), [bx, by] = stage.screenOf(target), length = Math.hypot(bx - ax, by - ay);
        if (!(way & bit) || length < 2 * size + 6) continue;
        const dx = (bx - ax) / length, dy = (by - ay) / length, x = bx - dx * (size / 2 + 2), y = by - dy * (size / 2 + 2);
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(x - head * (dx - 0.45 * dy), y - head * (dy + 0.45 * dx));
        context.lineTo(x - head * (dx + 0.45 * dy), y - head * (dy - 0.45 * dx));
        context.fill();
      }
    });
    context.restore();
  },
};

function exactWords(view) {
  if (view.shape === "plane") return `Across: ${view.axes[0]}. Up: ${view.axes[1]}.`;
  if (view.shape === "disk") return `Drawn: ${view.axes[0]}; rings are one unit apart. Towards you: ${view.axes[1]}; drag to turn the picture and see it.`;
  return `Direction: ${view.axes[0]}. Height above the ${view.shape === "ring" ? "circle" : "globe"}: ${view.axes[1]}.`;
}

const VIEWS = {
  time: { title: "Time", about: (space, embedded) => `Time runs upwards${embedded.ways ? ": edges that lead from earlier to later nodes point up" : ""}. Across: where points of ${space} differ most, apart from time.` },
  sphere: { title: "Sphere", about: (space) => `UMAP\u2019s layout on a sphere, from the nearest neighbours in ${space} by its own distance. What is near matters, not which way is up.` },
  hyperboloid: { title: "Hyperboloid", about: (space) => `UMAP\u2019s layout in hyperbolic space, from the nearest neighbours in ${space} by its own distance, as a bowl in three dimensions. Rings are equal steps outward.` },
  disk: { title: "Poincar\u00e9 disk", about: (space) => `The same layout in the Poincar\u00e9 disk: the rim is infinitely far away, rings are one unit apart. Dragging moves you through hyperbolic space.` },
  exact: { title: "Exact", about: (space, embedded) => `No reduction: each point of ${space} as it is. ${exactWords(embedded.exact)}` },
};
