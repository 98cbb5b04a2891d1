// Formats numbers as text.
'use strict';

const plainNumber = new Intl.NumberFormat('en-US', {maximumSignificantDigits: 6});
const compactNumber = new Intl.NumberFormat('en-US', {notation: 'compact', maximumSignificantDigits: 4});

// "12,345", "0.0123", "1.2e-7"
function numberText(value) {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return value.toLocaleString('en-US');
  if (size < 1e-3 || size >= 1e9) return Number(value.toPrecision(5)).toExponential();
  return plainNumber.format(value);
}

// The same for the axes, with less room: "12K"
function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return Number(value.toPrecision(4)).toExponential();
  return size >= 1e4 ? compactNumber.format(value) : plainNumber.format(value);
}

// "45s", "12m 05s", "3h 07m", "2d 04h"
function durationText(seconds) {
  const s = Math.round(seconds);
  const two = (number) => String(Math.floor(number)).padStart(2, '0');
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${two((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86400)}d ${two((s % 86400) / 3600)}h`;
}

// "10.4 MB"
function bytesText(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let size = bytes;
  let unit = 0;
  for (; size >= 1000 && unit + 1 < units.length; ++unit) size /= 1000;
  return `${Number(size.toPrecision(3))} ${units[unit]}`;
}
