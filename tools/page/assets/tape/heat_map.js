// A tensor as heat maps of its blocks, with statistics, and the number under the pointer or the keys.
'use strict';

const BLUE = [33, 92, 173], WHITE = [247, 247, 247], RED = [178, 24, 43], GRAY = [150, 150, 150];

// The color of x. The square root makes small numbers visible beside large ones.
function heatColor(x, largest) {
  if (!Number.isFinite(x)) return [230, 0, 230];
  const t = largest > 0 ? Math.sqrt(Math.min(1, Math.abs(x) / largest)) : 0;
  const end = x < 0 ? BLUE : RED;
  return WHITE.map((white, i) => Math.round(white + t * (end[i] - white)));
}

// Long narrow blocks are drawn sideways: rows from left to right.
function isSideways(block) {
  return block.rows > 4 * block.columns;
}

// Whether x is the score of a key that the query does not see.
function isMasked(tensor, x) {
  return tensor.masked === true && x === -Infinity;
}

function cellColor(tensor, x) {
  return isMasked(tensor, x) ? GRAY : heatColor(x, tensor.largest);
}

function paint(canvas, tensor, block) {
  const sideways = isSideways(block);
  canvas.width = Math.max(1, sideways ? block.rows : block.columns);
  canvas.height = Math.max(1, sideways ? block.columns : block.rows);
  const context = canvas.getContext('2d');
  const image = context.createImageData(canvas.width, canvas.height);
  block.values.forEach((x, i) => {
    const row = Math.floor(i / block.columns), column = i % block.columns;
    const pixel = sideways ? column * canvas.width + row : i;
    image.data.set([...cellColor(tensor, x), 255], 4 * pixel);
  });
  context.putImageData(image, 0, 0);
}

// Small tensors have their numbers in the cells: all of lm-nano, the widest of which are its queries, keys and values.
const MOST_NUMBERS = 24;

function hasNumbers(across, down) {
  return across <= MOST_NUMBERS && down <= MOST_NUMBERS;
}

// A number in the seven characters of a cell.
function cellText(x) {
  const exponential = (digits) => x.toExponential(digits).replaceAll('-', '−').replace('+', '');
  const texts = [valueText(x, 3), valueText(x, 2), ...Number.isFinite(x) ? [exponential(1), exponential(0)] : []];
  return texts.find((text) => text.length <= 7) ?? (x > 0 ? '∞' : '−∞');
}

function cellSize(across, down) {
  if (hasNumbers(across, down)) return {width: 56, height: 22};
  const width = Math.max(3, Math.min(14, Math.floor(420 / across)));
  return {width, height: Math.max(width, Math.min(14, Math.max(5, Math.floor(120 / down))))};
}

// True if white text has more contrast on the color than black text (the relative luminance of WCAG 2).
function isDark(color) {
  const [red, green, blue] = color.map((x) => (x / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179;
}

// The numbers of a block as a grid over its cells. Screen readers get the chosen element only.
function numbersView(tensor, block, sideways, cell) {
  const [across, down] = sideways ? [block.rows, block.columns] : [block.columns, block.rows];
  const cells = Array.from({length: across * down}, (_, i) => {
    const x = i % across, y = Math.floor(i / across);
    const value = block.at(block.row + (sideways ? x : y), block.column + (sideways ? y : x));
    const color = cellColor(tensor, value);
    return element('span', {class: isDark(color) ? 'on-dark' : '', style: `background: rgb(${color.join(' ')})`},
                   isMasked(tensor, value) ? '' : cellText(value));
  });
  const columns = `repeat(${across}, ${cell.width}px)`;
  return element('div', {class: 'numbers', 'aria-hidden': 'true',
                         style: `grid-template-columns: ${columns}; line-height: ${cell.height}px`}, ...cells);
}

// One block. select(row, column) is called for the chosen element.
class HeatMap {
  constructor(tensor, block, name, select) {
    Object.assign(this, {block, select, sideways: isSideways(block), across: 0, down: 0});
    this.canvas = element('canvas', {});
    paint(this.canvas, tensor, block);
    this.cell = cellSize(this.canvas.width, this.canvas.height);
    this.canvas.style.width = `${this.canvas.width * this.cell.width}px`;
    this.canvas.style.height = `${this.canvas.height * this.cell.height}px`;
    this.measured = this.measuredPlaces(tensor);
    this.marker = element('div', {class: 'marker', hidden: ''});
    const numbers = hasNumbers(this.canvas.width, this.canvas.height)
        ? [numbersView(tensor, block, this.sideways, this.cell)] : [];
    this.view = element('div', {
      class: 'heat',
      tabindex: 0,
      role: 'application',
      'aria-label': `heat map of ${name}, ${this.extent()}; arrow keys choose an element`,
    }, this.canvas, ...numbers, ...this.measured.map((place) => this.measuredMark(place)), this.marker);
    this.view.heatMap = this;
    this.view.addEventListener('click', (event) => this.point(event));
    this.view.addEventListener('keydown', (event) => this.key(event));
    this.view.addEventListener('focus', () => this.choose(this.across, this.down));
  }

  extent() {
    const range = (first, count, one, many) =>
      count === 1 ? `${one} ${first}` : `${many} ${first} to ${first + count - 1}`;
    const {row, column, rows, columns} = this.block;
    const sideways = this.sideways && columns > 1 ? ', drawn sideways' : '';
    return `${range(row, rows, 'row', 'rows')}, ${range(column, columns, 'column', 'columns')}${sideways}`;
  }

  point(event) {
    const area = this.canvas.getBoundingClientRect();
    this.choose(Math.floor((event.clientX - area.left) / this.cell.width),
                Math.floor((event.clientY - area.top) / this.cell.height));
  }

  // The elements of the block that have a finite difference, as places of the canvas.
  measuredPlaces(tensor) {
    const inBlock = (tensor.differences ?? []).filter(({row, column}) => this.block.has(row, column));
    return inBlock.map(({row, column}) => {
      const down = row - this.block.row, across = column - this.block.column;
      return this.sideways ? [down, across] : [across, down];
    });
  }

  measuredMark(place) {
    const mark = element('div', {class: 'measured'});
    this.cover(mark, ...place);
    return mark;
  }

  chooseMeasured() {
    if (this.measured.length === 0) return;
    const at = this.measured.findIndex(([across, down]) => across === this.across && down === this.down);
    this.choose(...this.measured[(at + 1) % this.measured.length]);
  }

  // Puts a mark on an element.
  cover({style}, across, down) {
    style.left = `${across * this.cell.width}px`;
    style.top = `${down * this.cell.height}px`;
    style.width = `${this.cell.width}px`;
    style.height = `${this.cell.height}px`;
  }

  key(event) {
    const moves = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
    const move = moves[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey || !(move || event.key === 'd')) return;
    event.preventDefault();
    event.stopPropagation();
    if (!move) return this.chooseMeasured();
    this.choose(this.across + move[0], this.down + move[1]);
  }

  choose(across, down) {
    this.across = Math.max(0, Math.min(this.canvas.width - 1, across));
    this.down = Math.max(0, Math.min(this.canvas.height - 1, down));
    this.mark();
    const {block} = this;
    this.select(block.row + (this.sideways ? this.across : this.down),
                block.column + (this.sideways ? this.down : this.across));
  }

  mark() {
    this.marker.hidden = false;
    this.cover(this.marker, this.across, this.down);
    requestAnimationFrame(() => this.scrollToMarker());  // at once it would make the browser lay out the page twice
  }

  scrollToMarker() {
    this.view.scrollLeft = Math.max(this.view.scrollLeft, (this.across + 2) * this.cell.width - this.view.clientWidth);
    this.view.scrollLeft = Math.min(this.view.scrollLeft, (this.across - 1) * this.cell.width);
  }
}

function statisticsView(tensor) {
  const rows = [['min', tensor.min], ['max', tensor.max], ['norm', tensor.norm], ['RMS', tensor.rootMeanSquare]];
  const notFinite = Object.entries(tensor.notFinite).filter(([, count]) => count > 0);
  rows.push(...notFinite.map(([name, count]) => [tensor.masked && name === 'infinite' ? 'not visible' : name, count]));
  const views = rows.map(([name, x]) => element('div', {}, element('dt', {}, name), element('dd', {}, valueText(x))));
  return element('dl', {class: 'statistics'}, ...views);
}

function scaleView(tensor) {
  const largest = valueText(tensor.largest, 3);
  return element('div', {class: 'scale', 'aria-hidden': 'true'}, element('span', {}, `−${largest}`),
                 element('span', {class: 'colors'}), element('span', {}, largest));
}

function sampledParts(maps) {
  return maps.flatMap((map, i) => [
    element('p', {class: 'extent'}, `${i === 0 ? 'The page has only ' : 'and '}${map.extent()}:`),
    map.view,
  ]);
}

// title: text or elements. explain(row, column): elements about this element.
function tensorView(tensor, name, title, explain = () => []) {
  const output = element('output', {}, 'choose an element with the pointer or the arrow keys');
  const explanation = element('div', {class: 'explanation'});
  const select = (row, column) => {
    output.textContent = `row ${row}, column ${column}: ${valueText(tensor.at(row, column), 9)}`;
    explanation.replaceChildren(...explain(row, column));
  };
  const maps = tensor.blocks.filter((block) => block.rows * block.columns > 0)
                   .map((block) => new HeatMap(tensor, block, name, select));
  const parts = tensor.isWhole ? maps.map((map) => map.view) : sampledParts(maps);
  const isWide = maps.some(({canvas}) => canvas.width > 8 && hasNumbers(canvas.width, canvas.height));
  return element('figure', {class: isWide ? 'tensor wide' : 'tensor'},
                 element('figcaption', {}, element('h4', {}, title),
                         element('span', {class: 'shape'}, `${shapeText(tensor.shape)} ${tensor.dtype}`)),
                 statisticsView(tensor),
                 ...parts, ...differencesNote(tensor), scaleView(tensor), output, explanation);
}
