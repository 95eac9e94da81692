// Points of a study or a comparison: any measure over any other, or over what was varied.
"use strict";

report.makers.explore = async (node, spec) => {
  const columns = Object.fromEntries(Object.entries(spec.columns).map(([name, column]) => {
    const open = { ...column };
    for (const part of ["values", "low", "high"]) if (open[part]) open[part] = Array.from(report.unpack(open[part]));
    open.label = report.plain(open.label);
    if (open.text) open.text = open.text.map(report.plain);
    return [name, open];
  }));
  const names = spec.names.map(report.plain);
  const count = names.length;
  const keys = spec.keys;
  let { x, y } = spec;
  const live = node.parentElement.querySelector(".live");
  const marked = new Set(spec.marked);

  // Intervals of a front alone: those of all points of a search would hide it.
  const bars = (column, rows, bare) => (column.low && !bare && count <= 400 ? {
    type: "data", symmetric: false, thickness: 1.2, width: 3,
    array: rows.map((i) => column.high[i] - column.values[i]),
    arrayminus: rows.map((i) => column.values[i] - column.low[i]),
  } : undefined);

  const place = (column, i) => (column.text ? column.text[i] : column.values[i]);

  // Points that no other point beats in both measures, by the means; of a search those of its
  // front, which are compared with each other.
  const front = () => {
    const [a, b] = [columns[x], columns[y]];
    if (a.key || b.key || a.lower === null || b.lower === null) return [];
    const value = (column, i) => (column.lower ? column.values[i] : -column.values[i]);
    const among = marked.size ? [...marked] : [...names.keys()];
    const rows = among.filter((i) => Number.isFinite(value(a, i)) && Number.isFinite(value(b, i)));
    rows.sort((i, j) => value(a, i) - value(a, j) || value(b, i) - value(b, j));
    const kept = [];
    let least = Infinity;
    for (const i of rows) {
      if (value(b, i) < least) {
        kept.push(i);
        least = value(b, i);
      }
    }
    return kept;
  };

  const written = (column, i, alone) => {
    if (column.text) return alone || !column.label ? column.text[i] : `${column.label} = ${column.text[i]}`;
    return `${column.label} = ${report.number(column.values[i])}`;
  };

  // One colour for each combination of what else was varied, of words alone where no key is an
  // axis; few enough to be distinguished.
  const groups = (curves) => {
    const others = keys.filter((key) => (curves ? key !== x : columns[key].text));
    const found = new Map();
    for (let i = 0; i < count; i++) {
      const name = others.map((key) => written(columns[key], i, others.length === 1)).join(", ");
      if (!found.has(name)) found.set(name, []);
      found.get(name).push(i);
    }
    if (found.size > 12) return new Map([["", [...Array(count).keys()]]]);
    return found;
  };

  // Logarithmic where the largest value would hide how the others differ.
  const scale = (column) => {
    if (column.text) return "category";
    const known = column.values.filter(Number.isFinite);
    const least = known.reduce((a, b) => Math.min(a, b), Infinity);
    const most = known.reduce((a, b) => Math.max(a, b), -Infinity);
    return !column.key && least > 0 && most > 10 * least ? "log" : "linear";
  };

  // 1, 2 and 5 times the powers of ten, written in full, as far as any zoom may lead.
  const ticks = (column) => {
    const ends = [...column.values, ...(column.low ?? []), ...(column.high ?? [])].filter((value) => value > 0);
    const first = Math.floor(Math.log10(ends.reduce((a, b) => Math.min(a, b), Infinity))) - 1;
    const last = Math.ceil(Math.log10(ends.reduce((a, b) => Math.max(a, b), 0))) + 1;
    const powers = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
    return powers.flatMap((power) => (last - first > 6 ? [power] : [power, 2 * power, 5 * power]));
  };

  const figure = () => {
    const [a, b] = [columns[x], columns[y]];
    const curves = a.key;
    const found = groups(curves);
    const data = [];
    let tint = 0;
    const add = (name, rows, bare, lines) => data.push({
      type: "scatter", uid: `points-${tint}-${bare}`, name, showlegend: found.size > 1 || marked.size > 0 || !curves,
      mode: lines ? "lines+markers" : "markers",
      x: rows.map((i) => place(a, i)), y: rows.map((i) => b.values[i]),
      error_x: bars(a, rows, bare), error_y: bars(b, rows, bare),
      text: rows.map((i) => names[i]), cliponaxis: false,
      customdata: rows.map((i) => spec.runs[i]),
      hovertemplate: `%{text}<br>${a.label}: %{x${a.text ? "" : ":,.4~g"}} ${a.unit}<br>${b.label}: %{y:,.4~g} ${b.unit}<br>%{customdata}<extra></extra>`,
      marker: { color: `@${tint}`, opacity: bare ? 0.5 : 1, size: bare ? 6 : marked.size ? 11 : 8, symbol: !bare && marked.size ? "diamond" : "circle" },
      line: { color: `@${tint}`, width: 1.5 },
    });
    for (const [name, all] of found) {
      const rows = curves && !a.text ? [...all].sort((i, j) => a.values[i] - a.values[j]) : all;
      const lines = curves && !a.text && (name !== "" || keys.length === 1);
      if (marked.size) {
        const [others, chosen] = [false, true].map((on) => rows.filter((i) => marked.has(i) === on));
        if (others.length) add(name ? `${name}, others` : "other points", others, true, false);
        if (chosen.length) add(name ? `${name}, front` : "front", chosen, false, false);
      } else {
        add(name || (curves ? b.label : "points"), rows, false, lines);
      }
      tint += 1;
    }
    const best = front();
    if (best.length > 1) {
      data.push({
        type: "scatter", mode: "lines", uid: "front", name: "not beaten in both", hoverinfo: "skip",
        x: best.map((i) => a.values[i]), y: best.map((i) => b.values[i]), line: { color: "@muted", width: 1.4, dash: "dot" },
      });
    }
    live.textContent = [
      marked.size ? `Diamonds: the front that the search found${spec.confirmed ? ", by replications run afterwards" : ""}.` : "",
      marked.size && marked.size < count ? `Circles: other points${spec.confirmed ? " that were run again" : ""}.` : "",
      spec.left ? `Points that were not run again: ${spec.left}, in the table alone.` : "",
      a.low || b.low ? `Bars: ${spec.level} intervals${count <= 400 ? "" : ", left out of so many points"}${marked.size ? " of the front" : ""}.` : "",
      best.length > 1 && marked.size ? "Dotted: points of the front that no other of it beats in both measures, by their means." : "",
      best.length > 1 && !marked.size ? "Dotted: points that no other beats in both measures, by their means." : "",
    ].filter(Boolean).join(" ");
    const title = (column) => {
      const notes = [column.unit, scale(column) === "log" ? "logarithmic" : ""].filter(Boolean);
      return { text: notes.length ? `${column.label} (${notes.join(", ")})` : column.label };
    };
    const axis = (column) => {
      const type = scale(column);
      const marks = type === "log" ? { tickvals: ticks(column), ticktext: ticks(column).map(report.number) } : {};
      return { title: title(column), type, zeroline: false, ...marks };
    };
    return {
      data,
      layout: {
        hovermode: "closest",
        xaxis: axis(a),
        yaxis: axis(b),
        uirevision: `${x} ${y}`,
      },
    };
  };

  const named = (wanted) => wanted.map((name) => [name, spec.columns[name].label]);
  const chart = { draw: () => {} };
  report.choose(node, "Across", named(spec.across), x, (value) => { x = value; chart.draw(); });
  report.choose(node, "Up", named(spec.up), y, (value) => { y = value; chart.draw(); });
  Object.assign(chart, await report.add(node, figure));
};
