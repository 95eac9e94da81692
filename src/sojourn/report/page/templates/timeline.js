// Servers and paths over time. Whatever the zoom, no more is drawn than the eye can distinguish:
// cells and bins are joined, and single blocks are shown once few enough are in view.
"use strict";

report.makers.timeline = async (node, spec) => {
  const BOXES = 1200;
  const CELLS = 640;
  // Curves of several runs lie over each other: fewer bins keep them apart.
  const BINS = spec.runs.length > 1 ? 160 : CELLS;
  const LABELS = 60;
  const STEPS = 2500;
  const { clock, span, waits, panels } = spec;
  const runs = spec.runs;
  const place = (seconds) => clock.offset + seconds * clock.scale;
  const moment = (value) =>
    ((clock.type === "date" && typeof value === "string" ? Date.parse(`${value.replace(" ", "T")}Z`) : Number(value)) -
      clock.offset) / clock.scale;
  const live = node.parentElement.querySelector(".live");
  const low = Math.log10(waits.low);
  const high = Math.log10(waits.high);
  const atOnce = low - (0.03 / 0.97) * (high - low);
  let chosen = 0;

  // Waits are kept as codes, evenly spaced in their logarithms.
  const grid = (run, share, wait) => {
    const step = Math.log(Math.max(waits.high, 10)) / (run.codes - 1);
    const seconds = (code) => (code === 0 ? 0 : Math.exp((code - 1) * step));
    return { share: report.unpack(share), wait: Float64Array.from(report.unpack(wait), seconds) };
  };

  const open = (run) => {
    if (run.open || run.missing) return run;
    run.open = { all: grid(run, run.share, run.wait) };
    if (run.rest_share) run.open.rest = grid(run, run.rest_share, run.rest_wait);
    for (const [name, at] of Object.entries(run.blocks)) run.open[name] = report.unpack(at);
    return run;
  };
  for (const panel of panels) {
    for (const line of panel.lines) {
      for (const name of ["mean", "low", "high", "time", "value"]) if (line[name]) line[name] = report.unpack(line[name]);
    }
  }

  const view = () => {
    const layout = node.layout ?? {};
    const [a, b] = layout.xaxis?.range ?? [place(span[0]), place(span[1])];
    const [c, d] = layout.yaxis?.range ?? [0, runs[chosen].servers];
    return { from: moment(a), to: moment(b), bottom: Math.min(c, d), top: Math.max(c, d) };
  };

  const color = (wait) => (wait > 0 ? Math.min(Math.max(Math.log10(wait), low), high) : atOnce);

  const inView = (run, seen) => {
    const { start, length, first, procs } = run.open;
    const from = (seen.from - span[0]) / run.grain;
    const to = (seen.to - span[0]) / run.grain;
    const rows = [];
    for (let i = 0; i < start.length && start[i] <= to; i++) {
      if (start[i] + length[i] >= from && first[i] <= seen.top && first[i] + procs[i] >= seen.bottom) {
        rows.push(i);
        if (rows.length > BOXES) return null;
      }
    }
    return rows;
  };

  // Neighbouring columns are joined: shares are averaged, waits weighted by what they cover.
  const cells = (run, grid, seen) => {
    const width = (span[1] - span[0]) / run.columns;
    const first = Math.max(0, Math.floor((seen.from - span[0]) / width));
    const last = Math.min(run.columns, Math.ceil((seen.to - span[0]) / width));
    const join = Math.max(1, Math.ceil((last - first) / CELLS));
    const height = run.servers / run.rows;
    const busy = [], idle = [], said = [];
    for (let row = 0; row < run.rows; row++) {
      const line = [], faded = [], words = [];
      for (let column = first; column < last; column += join) {
        const stop = Math.min(column + join, last);
        let share = 0, weight = 0;
        for (let i = column; i < stop; i++) {
          const part = grid.share[row * run.columns + i];
          share += part;
          weight += part * grid.wait[row * run.columns + i];
        }
        const covered = share / (255 * (stop - column));
        line.push(share > 0 ? color(weight / share) : null);
        faded.push(1 - covered);
        words.push(`${Math.round(100 * covered)} % busy` + (share > 0 ? `, mean wait ${report.duration(weight / share)}` : ""));
      }
      busy.push(line);
      idle.push(faded);
      said.push(words);
    }
    const common = {
      type: "heatmap",
      x0: place(span[0] + (first + join / 2) * width),
      dx: join * width * clock.scale,
      y0: height / 2,
      dy: height,
      showlegend: false,
    };
    const grain = `cells of ${report.duration(join * width)} × ${report.number(height)} ` +
      `${height === 1 ? "processor" : "processors"}`;
    return {
      grain,
      data: [
        { ...common, uid: "cells", z: busy, text: said, coloraxis: "coloraxis", hovertemplate: "%{text}<extra></extra>" },
        {
          ...common, uid: "idle", z: idle, zmin: 0, zmax: 1, showscale: false, hoverinfo: "skip",
          colorscale: [[0, "@paper/0"], [1, "@paper/1"]],
        },
      ],
    };
  };

  const boxes = (run, rows) => {
    const { start, length, first, procs, job, wait } = run.open;
    const pick = (make) => rows.map(make);
    const begin = pick((i) => place(span[0] + start[i] * run.grain));
    return {
      type: "bar", orientation: "h", uid: "boxes", showlegend: false,
      base: begin,
      x: pick((i) => length[i] * run.grain * clock.scale),
      y: pick((i) => first[i] + procs[i] / 2),
      width: pick((i) => procs[i]),
      marker: { color: pick((i) => color(wait[i])), coloraxis: "coloraxis", line: { width: 0.6, color: "@paper" } },
      text: rows.length <= LABELS ? pick((i) => String(job[i])) : undefined,
      textposition: "inside", insidetextanchor: "middle",
      customdata: pick((i) => `job ${job[i]}: ${report.number(procs[i])} ${procs[i] === 1 ? "processor" : "processors"}` +
        `<br>waited ${report.duration(wait[i])}<br>ran ${report.duration(length[i] * run.grain)}`),
      hovertemplate: "%{customdata}<extra></extra>",
    };
  };

  const gantt = (seen, notes) => {
    const run = open(runs[chosen]);
    if (run.missing) {
      notes.push(run.missing);
      return [];
    }
    const rows = inView(run, seen);
    const whole = rows !== null && !run.open.rest;
    const drawn = whole ? { data: [] } : cells(run, rows === null ? run.open.all : run.open.rest, seen);
    if (rows === null) notes.push(`Processors: ${drawn.grain}; the colour is the mean wait of the jobs in a cell, faded by the share that was idle.`);
    else notes.push(`Processors: ${report.number(rows.length)} blocks one by one` + (whole ? "." : `, smaller ones as ${drawn.grain}.`));
    if (run.note) notes.push(run.note);
    return rows === null ? drawn.data : [...drawn.data, boxes(run, rows)];
  };

  const exact = (line, seen) => {
    if (!line.time) return null;
    const from = (seen.from - span[0]) / line.grain;
    const to = (seen.to - span[0]) / line.grain;
    let first = 0, last = line.time.length;
    for (let top = last; first < top;) {
      const middle = (first + top) >> 1;
      if (line.time[middle] < from) first = middle + 1; else top = middle;
    }
    for (let bottom = first; bottom < last;) {
      const middle = (bottom + last) >> 1;
      if (line.time[middle] <= to) bottom = middle + 1; else last = middle;
    }
    first = Math.max(0, first - 1);
    if (last - first > STEPS) return null;
    const x = [], y = [];
    for (let i = first; i < last; i++) {
      x.push(place(span[0] + line.time[i] * line.grain));
      y.push(line.value[i]);
    }
    if (y.length) {
      x.push(place(Math.min(seen.to, span[1])));
      y.push(y[y.length - 1]);
    }
    return { x, y };
  };

  const binned = (line, seen) => {
    const width = (span[1] - span[0]) / line.bins;
    const first = Math.max(0, Math.floor((seen.from - span[0]) / width));
    const last = Math.min(line.bins, Math.ceil((seen.to - span[0]) / width));
    const join = Math.max(1, Math.ceil((last - first) / BINS));
    const x = [], mean = [], least = [], most = [];
    for (let bin = first; bin < last; bin += join) {
      const stop = Math.min(bin + join, last);
      let sum = 0, small = Infinity, large = -Infinity;
      for (let i = bin; i < stop; i++) {
        sum += line.mean[i];
        small = Math.min(small, line.low[i]);
        large = Math.max(large, line.high[i]);
      }
      x.push(place(span[0] + bin * width));
      mean.push(sum / (stop - bin));
      least.push(small);
      most.push(large);
    }
    x.push(place(span[0] + last * width));
    for (const side of [mean, least, most]) side.push(side[side.length - 1]);
    return { x, y: mean, least, most, over: report.duration(join * width) };
  };

  const paths = (seen, notes) => {
    const data = [];
    let means = "";
    panels.forEach((panel, p) => {
      for (const line of panel.lines) {
        const single = runs.length === 1;
        const name = single ? panel.name : report.plain(runs[line.run].name);
        const tint = single ? p : line.run;
        const curve = exact(line, seen) ?? binned(line, seen);
        const common = {
          type: "scatter", mode: "lines", yaxis: `y${p + 2}`, x: curve.x,
          legendgroup: single ? `panel-${p}` : `run-${line.run}`, hoverlabel: { namelength: -1 },
        };
        if (curve.over && single) {
          const edge = { ...common, showlegend: false, hoverinfo: "skip", line: { width: 0, shape: "hv", color: `@${tint}` } };
          data.push({ ...edge, uid: `least-${p}`, y: curve.least });
          data.push({ ...edge, uid: `most-${p}`, y: curve.most, fill: "tonexty", fillcolor: `@${tint}/0.25` });
        }
        means = curve.over ?? means;
        data.push({
          ...common, uid: `path-${p}-${line.run}`, y: curve.y, name, showlegend: single || p === 0,
          line: { width: 1.4, shape: "hv", color: `@${tint}`, dash: line.run < 7 ? "solid" : "dash" },
          hovertemplate: `%{y:,.4~g} ${panel.unit || panel.name}<extra>${runs.length > 1 ? "%{fullData.name}" : ""}</extra>`,
        });
      }
    });
    if (means) notes.push(`Curves: means over ${means}${runs.length === 1 ? ", and bands from the least to the largest value" : ""}.`);
    else notes.push("Curves: every step.");
    return data;
  };

  const figure = () => {
    const seen = view();
    const notes = [];
    const data = [...gantt(seen, notes), ...paths(seen, notes)];
    live.textContent = notes.join(" ");
    const run = runs[chosen];
    const tall = run.missing ? 0 : 0.46;
    const each = (1 - tall) / panels.length;
    const room = 24 / Math.max(node.clientHeight - 130, 100);
    const layout = {
      barmode: "overlay",
      hovermode: "closest",
      dragmode: "zoom",
      margin: { l: 56, r: 12, t: 64, b: 44 },
      showlegend: runs.length > 1,
      annotations: [],
      xaxis: {
        type: clock.type, range: [place(seen.from), place(seen.to)], title: { text: clock.label },
        anchor: `y${panels.length + 1}`, showgrid: false, zeroline: false,
      },
      yaxis: {
        domain: [1 - Math.max(tall, 0.01) + 0.01, 1], range: [seen.bottom, seen.top], title: { text: "processors" },
        showgrid: false, zeroline: false, visible: !run.missing,
      },
      coloraxis: {
        cmin: atOnce, cmax: high, colorscale: report.waitScale(), showscale: !run.missing,
        colorbar: {
          orientation: "h", x: 0, xanchor: "left", y: 1.01, yanchor: "bottom", len: Math.min(1, 420 / Math.max(node.clientWidth - 80, 1)), thickness: 9,
          outlinewidth: 0, title: { text: "wait (gray: started at once)", side: "top", font: { size: 11 } },
          tickvals: waits.ticks.map(Math.log10), ticktext: waits.labels, tickfont: { size: 10 },
        },
      },
    };
    if (run.nodes.length) {
      let height = 0;
      const middles = run.nodes.map(([, procs]) => (height += procs) - procs / 2);
      // As many names as there is room for, a line of them 14 pixels high.
      const line = (14 * (seen.top - seen.bottom)) / Math.max(0.45 * (node.clientHeight - 110), 1);
      const marks = [];
      middles.forEach((y, i) => {
        const inside = seen.bottom <= y && y <= seen.top;
        if (inside && (!marks.length || y - middles[marks[marks.length - 1]] >= line)) marks.push(i);
      });
      Object.assign(layout.yaxis, {
        range: [seen.top, seen.bottom], title: { text: "" },
        tickvals: marks.map((i) => middles[i]), ticktext: marks.map((i) => report.plain(run.nodes[i][0])),
      });
    }
    panels.forEach((panel, p) => {
      const top = 1 - tall - p * each;
      layout[`yaxis${p + 2}`] = {
        domain: [top - each + 0.01, top - room], rangemode: "tozero", fixedrange: true, nticks: 4,
      };
      layout.annotations.push({
        text: panel.unit ? `${panel.name} (${panel.unit})` : panel.name, showarrow: false, font: { size: 12 },
        xref: "paper", x: 0, xanchor: "left", yref: "paper", y: top - room, yanchor: "bottom",
      });
    });
    return { data, layout };
  };

  if (runs.length > 1) {
    report.choose(node, "Processors of", runs.map((run, i) => [String(i), run.name]), "0", (value) => {
      chosen = Number(value);
      chart.draw();
    });
  }
  const chart = await report.add(node, figure);
  let waiting = false;
  node.on("plotly_relayout", (change) => {
    const moved = Object.keys(change).some((key) => key.startsWith("xaxis") || key.startsWith("yaxis.") || key.startsWith("yaxis["));
    if (!moved || waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      chart.draw();
    });
  });
};
