// Scales of chart axes: the position of a value, and the values that the axis labels.
'use strict';

// Multiples of 1, 2 or 5 times a power of ten between the limits, about `count` of them.
function roundSteps(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.ceil(low / step);
  const steps = [];
  for (let i = 0; (first + i) * step <= high + step * 1e-9; ++i) {
    steps.push(Number(((first + i) * step).toPrecision(12)));
  }
  return steps;
}

// Powers of ten between the limits, and with few of them also their multiples.
function logarithmicSteps(low, high, count) {
  const decades = Math.log10(high / low);
  if (decades < 1) return roundSteps(low, high, count);
  const every = Math.ceil(decades / count);
  const factors = decades < 3 ? [1, 2, 5] : [1];
  const steps = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    if (power % every !== 0) continue;
    for (const factor of factors) steps.push(Number(`${factor}e${power}`));
  }
  return steps.filter((step) => step >= low && step <= high);
}

// The ends of an axis: the limits of the values, with some room.
function axisLimits(low, high, {logarithmic, fromZero, margin}) {
  if (logarithmic) return low === high ? [low / 2, high * 2] : [low / 1.05, high * 1.05];
  const begin = fromZero ? Math.min(low, 0) : low;
  if (begin === high) return [high - (Math.abs(high) / 2 || 1), high + (Math.abs(high) / 2 || 1)];
  const room = margin ? (high - begin) * 0.05 : 0;
  return [fromZero && begin === 0 ? 0 : begin - room, high + room];
}

// values: finite and, for a logarithmic scale, positive. The scale maps them to positions from `begin` to `end`.
function makeScale(values, begin, end, count, options) {
  const smallest = values.reduce((least, value) => Math.min(least, value), Infinity);
  const largest = values.reduce((most, value) => Math.max(most, value), -Infinity);
  const [low, high] = axisLimits(smallest, largest, options);
  const position = options.logarithmic ? Math.log : (value) => value;
  const length = position(high) - position(low);
  return {
    at: (value) => begin + ((position(value) - position(low)) / length) * (end - begin),
    steps: (options.logarithmic ? logarithmicSteps : roundSteps)(low, high, count),
  };
}
