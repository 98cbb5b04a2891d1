// Numbers as text.
'use strict';

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
