// A line chart, with the scales of its axes and its numbers as text.
'use strict';

// Formats numbers as text.
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

// Scales of chart axes: the position of a value, and the values that the axis labels.

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

// A line chart. Moving the pointer or the arrow keys over it selects a point, whose values appear in the legend.

const CHART_HEIGHT = 240;
const CHART_MARGIN = {left: 56, right: 24, top: 10, bottom: 40};
const MOST_MARKS = 60; // more marks would hide their line
const DASHES = ['none', '7 4', '2 3', '9 3 2 3', '4 2', '12 4'];

class Chart {
  // curves: {name, color, dash, marked, values, positions}; the positions are those of each horizontal axis by name.
  constructor(title, unit, curves, scale) {
    this.curves = curves;
    this.title = title;
    this.scale = scale;
    this.selected = null;
    this.plot = svgElement('svg', {class: 'plot', role: 'slider', tabindex: '0', 'aria-label': `${title}: points`});
    this.place = element('p', {class: 'place'});
    this.legend = element('ul', {class: 'legend'});
    this.figures = curves.map((curve) => this.addToLegend(curve));
    const caption = element('figcaption', {}, element('h3', {}, title), element('span', {class: 'unit'}, unit));
    this.figure = element('figure', {class: 'chart'}, caption, this.plot, this.legend, this.place);
    this.listen();
  }

  addToLegend(curve) {
    const value = element('span', {class: 'value'});
    const key = svgElement('svg', {class: 'key', width: '28', height: '12', 'aria-hidden': 'true'},
      svgElement('path', {class: `line color-${curve.color}`, d: 'M1 6H27', 'stroke-dasharray': DASHES[curve.dash]}));
    if (curve.marked) key.append(svgElement('circle', {class: `mark color-${curve.color}`, cx: 14, cy: 6, r: 3}));
    this.legend.append(element('li', {}, key, curve.name, value));
    return value;
  }

  listen() {
    const follow = (event) => this.selectNearest(event.clientX - this.plot.getBoundingClientRect().left);
    this.plot.addEventListener('pointermove', follow);
    this.plot.addEventListener('pointerdown', follow);
    this.plot.addEventListener('keydown', (event) => this.press(event));
    this.plot.addEventListener('focus', () => this.select(this.selected ?? 0));
  }

  // axis: {name, unit, divisor}
  draw(axis, logarithmic) {
    this.axis = axis;
    this.points = this.curves.map((curve) => pointsOf(curve, axis, logarithmic));
    const drawn = this.points.flat().filter((point) => point.y !== null);
    this.stops = [...new Set(drawn.map((point) => point.x))].sort((a, b) => a - b);
    this.plot.replaceChildren();
    this.figure.classList.toggle('empty', drawn.length === 0);
    this.place.textContent = drawn.length === 0 ? 'No values to draw.' : '';
    this.selected = null;
    for (const figure of this.figures) figure.textContent = '';
    if (drawn.length > 0) this.drawPoints(drawn, logarithmic);
  }

  drawPoints(drawn, logarithmic) {
    const width = Math.max(this.plot.clientWidth, 200);
    const {left, right, top, bottom} = CHART_MARGIN;
    this.plot.setAttribute('viewBox', `0 0 ${width} ${CHART_HEIGHT}`);
    this.x = makeScale(this.stops, left, width - right, width / 90, {fromZero: true});
    this.y = makeScale(drawn.map((point) => point.y), CHART_HEIGHT - bottom, top, 5,
      {logarithmic, fromZero: this.scale.fromZero, margin: true});
    this.drawAxes(width);
    this.points.forEach((points, i) => this.drawCurve(this.curves[i], points));
    this.cursor = svgElement('g', {class: 'cursor'});
    this.plot.append(this.cursor);
    this.describe(this.stops.length - 1);
  }

  drawAxes(width) {
    const {left, right, bottom} = CHART_MARGIN;
    const floor = CHART_HEIGHT - bottom;
    for (const step of this.y.steps) {
      const y = Number(this.y.at(step).toFixed(1));
      this.plot.append(svgElement('path', {class: 'grid', d: `M${left} ${y}H${width - right}`}),
        svgElement('text', {x: left - 6, y: y + 4, 'text-anchor': 'end'}, tickText(step)));
    }
    for (const step of this.x.steps) {
      const x = Number(this.x.at(step).toFixed(1));
      this.plot.append(svgElement('path', {class: 'tick', d: `M${x} ${floor}v4`}),
        svgElement('text', {x, y: floor + 17, 'text-anchor': 'middle'}, tickText(step)));
    }
    this.plot.append(svgElement('path', {class: 'tick', d: `M${left} ${floor}H${width - right}`}),
      svgElement('text', {x: width - right, y: floor + 34, 'text-anchor': 'end'}, this.axis.unit));
  }

  drawCurve(curve, points) {
    const color = `color-${curve.color}`;
    const pieces = unbroken(points);
    const d = pieces.map((piece) => `M${piece.map((p) => this.placeOf(p).join(' ')).join('L')}`).join('');
    this.plot.append(svgElement('path', {class: `line ${color}`, d, 'stroke-dasharray': DASHES[curve.dash]}));
    const all = curve.marked && points.length <= MOST_MARKS;
    const marked = pieces.filter((piece) => all || piece.length === 1).flat(); // a single point has no line
    for (const point of marked) this.plot.append(this.mark(point, color, 3));
  }

  placeOf(point) {
    return [this.x.at(point.x).toFixed(1), this.y.at(point.y).toFixed(1)];
  }

  mark(point, color, radius) {
    const [cx, cy] = this.placeOf(point);
    return svgElement('circle', {class: `mark ${color}`, cx, cy, r: radius});
  }

  press(event) {
    const last = this.stops.length - 1;
    const at = this.selected ?? last;
    const page = Math.max(1, Math.round(last / 10));
    const targets = {ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, PageDown: at - page,
      PageUp: at + page, Home: 0, End: last};
    if (!(event.key in targets)) return;
    event.preventDefault();
    this.select(targets[event.key]);
  }

  selectNearest(position) {
    if (this.stops.length > 0) this.select(nearest(this.stops.map((stop) => this.x.at(stop)), position));
  }

  select(index) {
    if (this.stops.length === 0) return;
    this.selected = Math.max(0, Math.min(index, this.stops.length - 1));
    const stop = this.stops[this.selected];
    const x = this.x.at(stop).toFixed(1);
    this.cursor.replaceChildren(
      svgElement('path', {d: `M${x} ${CHART_MARGIN.top}V${CHART_HEIGHT - CHART_MARGIN.bottom}`}));
    this.points.forEach((points, i) => this.showValue(i, points, stop));
    this.place.textContent = this.stopText(stop);
    this.describe(this.selected);
  }

  // A curve without a point at the selected place shows its nearest one.
  showValue(i, points, stop) {
    const point = points[nearest(points.map((p) => p.x), stop)];
    if (point === undefined) return;
    const where = point.x === stop ? '' : ` at ${this.stopText(point.x)}`;
    this.figures[i].textContent = (point.y === null ? 'no value' : numberText(point.y)) + where;
    if (point.y !== null) this.cursor.append(this.mark(point, `color-${this.curves[i].color}`, 4.5));
  }

  stopText(stop) {
    return `${numberText(this.axis.divisor === 1 ? stop : Number(stop.toPrecision(4)))} ${this.axis.unit}`;
  }

  // Tells screen readers the selected point.
  describe(index) {
    const values = this.figures.map((figure, i) => `${this.curves[i].name} ${figure.textContent || 'not selected'}`);
    const text = this.selected === null ? 'no point selected' : `${this.place.textContent}: ${values.join(', ')}`;
    const last = this.stops.length - 1;
    fill(this.plot, {'aria-valuemin': 0, 'aria-valuemax': last, 'aria-valuenow': index, 'aria-valuetext': text}, []);
  }
}

// The points {x, y} of a curve that have a place on the axis; y is null for a gap.
function pointsOf(curve, axis, logarithmic) {
  const places = curve.positions[axis.name];
  return curve.values
    .map((value, i) => ({x: places[i] === null ? null : places[i] / axis.divisor, y: value}))
    .filter((point) => point.x !== null)
    .map((point) => (logarithmic && point.y !== null && point.y <= 0 ? {x: point.x, y: null} : point));
}

// The stretches of a curve between its gaps.
function unbroken(points) {
  const pieces = [[]];
  for (const point of points) {
    if (point.y === null) pieces.push([]);
    else pieces.at(-1).push(point);
  }
  return pieces.filter((piece) => piece.length > 0);
}

// The index of the place that is nearest to the wanted one.
function nearest(places, wanted) {
  let best = 0;
  for (let i = 1; i < places.length; ++i) {
    if (Math.abs(places[i] - wanted) < Math.abs(places[best] - wanted)) best = i;
  }
  return best;
}
