"use strict";

// Rows of a table as the page packs them: columns with exact values. Nothing here touches the document.
// A column is {type, side, style, unit, largest} and has either `values` (numbers, null, or the mark in place of a ratio) or, if it
// is text, `texts` (each distinct text once) and `codes` (for each row, its index in `texts`).

const SCALES = {
  duration_ns: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
  bytes: [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
};

function textAt(column, row) {
  const code = column.codes[row];
  return code === null ? "" : column.texts[code];
}

// A cell, by the rules of pipeline/render/page/cells.py: its text, its exact value, its CSS class.
function cellOf(column, row) {
  if (column.texts) return { text: textAt(column, row), exact: null, style: column.style };
  const value = column.values[row];
  if (value === null) return { text: "", exact: null, style: "" };
  if (typeof value === "string" && !column.isNumber) return { text: value, exact: null, style: column.style };
  const number = Number(value);
  if (Number.isNaN(number)) return { text: value, exact: null, style: "mark" };
  return { text: shown(column, number, value), exact: `${value}${column.unit}`, style: shade(column, number) };
}

function shown(column, number, value) {
  const sign = column.side === "diff" && number > 0 ? "+" : "";
  switch (column.type) {
    case "duration_ns":
    case "bytes": {
      const scales = SCALES[column.type];
      const [size, unit] = scales.find(([size]) => Math.abs(number) >= size) ?? scales.at(-1);
      return `${sign}${size === 1 ? grouped(String(value)) : grouped(fixed(number / size))} ${unit}`;
    }
    case "bandwidth":
      return `${sign}${grouped(fixed(number / 1e9))} GB/s`;
    case "ratio":
      return `×${grouped(fixed(number))}`;
    case "share": {
      const tenths = Math.round(Number(fixed(number)) * 1000);
      return `${tenths < 0 ? "-" : ""}${Math.floor(Math.abs(tenths) / 10)}.${Math.abs(tenths) % 10}%`;
    }
    case "count":
    case "depth":
      return sign + grouped(String(value));
  }
  return String(value);
}

// Three decimals. A half that a double represents exactly is rounded to the even digit, as in Python; toFixed rounds it up.
function fixed(number) {
  const size = Math.abs(number);
  let text = size.toFixed(3);
  if ((size * 16) % 2 === 1 && Number(text.at(-1)) % 2 === 1) text = (Number(text) - 0.001).toFixed(3);
  return (number < 0 ? "-" : "") + text;
}

function grouped(text) {
  const [whole, decimals] = text.split(".");
  const groups = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return decimals === undefined ? groups : `${groups}.${decimals}`;
}

function shade(column, number) {
  if (column.side !== "diff" || !SCALES[column.type] || !number) return "";
  const size = Math.abs(number);
  const strength = 2 * size >= column.largest ? 3 : 10 * size >= column.largest ? 2 : 1;
  return (number > 0 ? "worse" : "better") + strength;
}

// The rows that have each word of a filter in one of their texts; in a tree, also the rows around them.
function matching(table, words) {
  const texts = table.columns.filter((column) => column.texts);
  const having = words.map((word) => texts.map((column) => column.texts.map((text) => text.toLowerCase().includes(word))));
  const found = [];
  let needed = 0;
  for (let row = table.count - 1; row >= 0; row--) {
    const depth = table.depths ? table.depths[row] : 0;
    const has = having.every((columns) => columns.some((hits, i) => texts[i].codes[row] !== null && hits[texts[i].codes[row]]));
    if (!has && depth >= needed) continue;
    found.push(row);
    needed = depth;
  }
  return found.reverse();
}

// All rows, sorted by a column. Missing values come last in both directions; in a tree, siblings are sorted.
function sorted(table, place, isDescending) {
  const keys = keysOf(table.columns[place]);
  const compare = (a, b) => {
    if (Number.isNaN(keys[a]) || Number.isNaN(keys[b])) return Number.isNaN(keys[a]) - Number.isNaN(keys[b]);
    return isDescending ? keys[b] - keys[a] : keys[a] - keys[b];
  };
  const rows = Array.from({ length: table.count }, (_, row) => row);
  return table.depths ? siblingsSorted(rows, table.depths, compare) : rows.sort(compare);
}

function keysOf(column) {
  if (!column.texts) return column.values.map((value) => (value === null ? NaN : Number(value)));
  const collator = new Intl.Collator(undefined, { numeric: true });
  const places = column.texts.map((_, i) => i).sort((a, b) => collator.compare(column.texts[a], column.texts[b]));
  const ranks = [];
  let rank = 0;
  places.forEach((code, i) => {
    if (i && collator.compare(column.texts[places[i - 1]], column.texts[code])) rank++;
    ranks[code] = column.texts[code] === "" ? NaN : rank;
  });
  return column.codes.map((code) => (code === null ? NaN : ranks[code]));
}

function siblingsSorted(rows, depths, compare) {
  const root = { depth: -1, children: [] };
  const above = [root];
  for (const row of rows) {
    while (above.length > 1 && above.at(-1).depth >= depths[row]) above.pop();
    const node = { row, depth: depths[row], children: [] };
    above.at(-1).children.push(node);
    above.push(node);
  }
  const flat = [];
  const waiting = [root];
  while (waiting.length) {
    const node = waiting.pop();
    if (node !== root) flat.push(node.row);
    waiting.push(...node.children.sort((a, b) => compare(a.row, b.row)).reverse());
  }
  return flat;
}
