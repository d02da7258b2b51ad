// Edges that matter most for what the network says of a node: listed beside the picture, and drawn in it.

const Explained = (() => {
  const edgesOf = (explorer) => explorer.graph.explained.get(explorer.selected) || [];
  const nodes = (explorer) => edgesOf(explorer).flatMap((edge) => [edge.source, edge.target]);
  const link = (explorer, node) => h("button", { type: "button", class: "link", onclick: () => explorer.select(node, true) }, clip(explorer.graph.names[node], 32));

  // The inspector of a node that was explained.
  function list(explorer) {
    if (!explorer.graph.explained.has(explorer.selected)) return [];
    const edges = edgesOf(explorer), title = h("h4", { class: "why" }, h("i"), "Edges that matter most");
    if (!edges.length) return [title, h("p", { class: "faint" }, "No edge matters for it.")];
    const row = (edge) => h("tr", {}, h("td", {}, link(explorer, edge.source)), h("td", {}, link(explorer, edge.target)),
      h("td", { class: "bar" }, h("span", { style: { width: `${(100 * edge.importance).toFixed(1)}%`, background: "var(--why)" } })), h("td", { class: "number" }, edge.importance.toFixed(2)));
    return [title, h("div", { class: "scroll" }, h("table", { id: "explained", class: "bars" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "source"), h("th", { scope: "col" }, "target"), h("th", { scope: "col", colspan: 2 }, "importance"))), h("tbody", {}, edges.map(row)))),
      h("p", { class: "faint" }, "What the network says of this node rests on them most, as far as GNNExplainer finds; 1 is most.")];
  }

  // The inspector without a node: those that were explained.
  function offer(explorer) {
    const known = [...explorer.graph.explained.keys()];
    return known.length ? [h("h4", { class: "why" }, h("i"), "Explained nodes"), h("ul", { class: "plain", id: "explained-nodes" }, known.map((node) => h("li", {}, link(explorer, node))))] : [];
  }

  // Wide lines over the picture, the wider the more important; what lies behind a globe is left out.
  function draw(context, explorer) {
    const { stage, ink } = explorer, edges = explorer.edges.value === "none" ? [] : edgesOf(explorer);
    context.save();
    if (stage.scene.bounds) {
      const { left, right, top, bottom } = stage.box();
      context.beginPath();
      context.rect(left, top, right - left, bottom - top);
      context.clip();
    }
    context.strokeStyle = ink.why;
    context.globalAlpha = 0.75;
    context.lineCap = context.lineJoin = "round";
    for (const edge of edges) {
      let drawing = false;
      context.beginPath();
      context.lineWidth = 1 + 4 * edge.importance;
      for (const point of explorer.path(edge.source, edge.target, 64)) {
        const [x, y, z] = stage.project(point);
        if (stage.scene.fade && z < -0.1) drawing = false;
        else if (drawing) context.lineTo(x, y);
        else { context.moveTo(x, y); drawing = true; }
      }
      context.stroke();
    }
    context.restore();
  }

  return { nodes, list, offer, draw };
})();
