// Nodes or pairs to look through: tables to filter, to see in the picture, and to download as CSV.

const Listings = (() => {
  // A spreadsheet takes a text that begins like this for a formula and runs it, unless it is a number.
  const FORMULA = /^[\t\r\n]|^\s*[=+\-@\uff0b\uff0d\uff1d\uff20]/, NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

  // A field of a CSV file: numbers in full; an apostrophe before what a spreadsheet would run; quoted where commas need it.
  function field(value) {
    if (value === null) return "";
    if (typeof value === "number") return String(value);
    const text = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
    return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  const csv = (listing, rows) => [listing.columns.map((column) => field(column.name)), ...rows.map((k) => listing.columns.map((column) => field(column.values[k])))].map((line) => `${line.join(",")}\n`).join("");

  function download(name, text) {
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    h("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  // A share in per cent that says 0 or 100 only where it is.
  function share(value) {
    const text = (100 * value).toFixed(2);
    return `${text === "100.00" && value < 1 ? "> 99.99" : text === "0.00" && value > 0 ? "< 0.01" : text}\u00a0%`;
  }

  const shown = { node: (value) => value, text: (value) => value, share, number: (value) => (Number.isInteger(value) ? String(value) : Charts.plain(value)) };
  const written = (column, k) => (column.values[k] === null ? "\u2013" : shown[column.kind](column.values[k]));
  const isNumber = (column) => column.kind === "share" || column.kind === "number";

  // find: the number of a node by its name, or nothing; pick: marks nodes in the picture.
  function build(listing, owner, find, pick) {
    const { name, columns } = listing, count = columns[0].values.length, all = Array.from({ length: count }, (_, k) => k);
    const about = h("div", { class: "words" }, h("p", {}, listing.about));
    if (!count) return [about, h("p", { class: "faint" }, "There are none.")];
    let visible = all;
    const cell = (column, k) => {
      const text = clip(written(column, k), 48), node = column.kind === "node" ? find(column.values[k]) : undefined;
      return h("td", { class: isNumber(column) ? "number" : "" }, node === undefined ? text : h("button", { type: "button", class: "link", "data-node": node, title: "Show in the picture" }, text));
    };
    const rows = all.map((k) => h("tr", { "data-row": k, onclick: (event) => {
      const nodes = [...rows[k].querySelectorAll("[data-node]")].map((each) => Number(each.dataset.node)), first = event.target.closest("[data-node]");
      if (!nodes.length) return;
      pick(first && Number(first.dataset.node) !== nodes[0] ? nodes.reverse() : nodes);
      rows[k].classList.add("chosen");
    } }, columns.map((column) => cell(column, k))));
    const found = all.map((k) => columns.filter((column) => !isNumber(column)).map((column) => String(column.values[k]).toLowerCase()).join("\n"));
    const tally = h("span", { class: "faint", "aria-live": "polite" });
    const save = h("button", { type: "button", class: "save", onclick: () => download(`${owner}-${name}`.replace(/[^\w.,-]+/g, "_").slice(-100) + ".csv", csv(listing, visible)) });
    const filter = h("input", { id: `listing-${name}-filter`, type: "search", autocomplete: "off", spellcheck: "false", placeholder: "part of a name", oninput: () => narrow() });
    const narrow = () => {
      const wanted = filter.value.trim().toLowerCase();
      visible = all.filter((k) => found[k].includes(wanted));
      rows.forEach((row, k) => { row.hidden = !found[k].includes(wanted); });
      tally.textContent = visible.length < count ? `${visible.length} of ${count} rows` : `${count} rows`;
      save.textContent = visible.length < count ? `Download these ${visible.length} as CSV` : "Download as CSV";
      save.disabled = !visible.length;
    };
    narrow();
    return [about, h("div", { class: "found" },
      h("div", { class: "bar-top" }, h("div", { class: "tools" }, h("label", { for: filter.id }, h("span", {}, "Filter"), filter), tally), save),
      h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": listing.title }, h("table", { class: "listing" },
        h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col", class: isNumber(column) ? "number" : "" }, column.name.replaceAll("_", " "))))),
        h("tbody", {}, rows))))];
  }

  return { build, csv };
})();
