// Numbers and tensors of the page.
'use strict';

// Numbers as text.
function valueText(x, digits = 5) {
  if (x === null || x === undefined) return 'none';
  if (Number.isNaN(x)) return 'NaN';
  if (!Number.isFinite(x)) return x > 0 ? 'infinity' : '−infinity';
  const text = Number.isInteger(x) && Math.abs(x) < 1e9 ? String(x) : String(Number(x.toPrecision(digits)));
  return text.replaceAll('-', '−');
}

function inUnits(x, factor, units) {
  let unit = 0;
  for (; Math.abs(x) >= 999.5 && unit + 1 < units.length; ++unit) x /= factor;
  return `${valueText(x, 3)} ${units[unit]}`;
}

function memoryText(bytes) {
  return inUnits(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
}

function countText(count, unit) {
  return inUnits(count, 1000, ['', 'k', 'M', 'G', 'T', 'P']) + unit;
}

function timeText(seconds) {
  return inUnits(1e6 * seconds, 1000, ['µs', 'ms', 's']);
}

function shapeText(shape) {
  return shape.length === 0 ? 'scalar' : shape.join(' × ');
}

function percentText(share) {
  return `${valueText(100 * share, 2)}%`;
}

// A tensor of the page: statistics of all elements, and blocks of values. Columns are the last axis, rows all others.

function decodeFloats(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({length: bytes.length / 4}, (_, i) => view.getFloat32(4 * i, true));
}

class TensorBlock {
  constructor(data) {
    Object.assign(this, {row: data.row, column: data.column, rows: data.rows, columns: data.columns});
    this.data = data.data;
  }

  get values() {
    this.decoded ??= decodeFloats(this.data);
    return this.decoded;
  }

  has(row, column) {
    const down = row - this.row, across = column - this.column;
    return down >= 0 && down < this.rows && across >= 0 && across < this.columns;
  }

  at(row, column) {
    return this.values[(row - this.row) * this.columns + column - this.column];
  }
}

class Tensor {
  constructor(data) {
    Object.assign(this, {shape: data.shape, dtype: data.dtype, min: data.min, max: data.max, norm: data.norm});
    this.notFinite = {nan: data.nan, infinite: data.infinite};
    this.size = data.shape.reduce((product, n) => product * n, 1);
    this.columns = data.shape.length > 0 ? data.shape[data.shape.length - 1] : 1;
    this.rows = this.columns > 0 ? this.size / this.columns : 0;
    this.blocks = data.blocks.map((block) => new TensorBlock(block));
    this.largest = Math.max(Math.abs(data.min ?? 0), Math.abs(data.max ?? 0));
  }

  // Undefined if the page does not have this element.
  at(row, column) {
    return this.blocks.find((block) => block.has(row, column))?.at(row, column);
  }

  get isWhole() {
    return this.blocks.reduce((sum, block) => sum + block.rows * block.columns, 0) === this.size;
  }

  get rootMeanSquare() {
    return this.norm / Math.sqrt(this.size);
  }
}
