// The buckets of gradients, in lanes over time and one by one.
'use strict';

// Backward and the messages of each rank in time, as bars.
const LANES = {width: 900, left: 110, height: 22, gap: 4};

// Puts each bar into the first lane that is free when it begins.
function packBars(bars) {
  const lanes = [];
  for (const bar of [...bars].sort((a, b) => a.begin - b.begin)) {
    const free = lanes.find((lane) => lane[lane.length - 1].end <= bar.begin);
    if (free) {
      free.push(bar);
    } else {
      lanes.push([bar]);
    }
  }
  return lanes;
}

class BucketLanes {
  constructor(ranks) {
    this.ranks = ranks;
    this.y = 0;
    this.parts = [];
    ranks.ranks.forEach((rank, number) => {
      for (const {name, bars} of this.lanesOf(rank)) this.addLane(name === '' ? '' : `rank ${number}: ${name}`, bars);
    });
    this.addAxis();
    this.view = element('div', {class: 'scroll lanes', tabindex: 0, role: 'region', 'aria-label': 'buckets in time'},
                        svgElement('svg', {viewBox: `0 0 ${LANES.width} ${this.y}`, role: 'img',
                                           'aria-label': 'backward and messages of each rank; the table has the times'},
                                   ...this.parts));
  }

  lanesOf(rank) {
    const {step} = this.ranks;
    const backward = rank.backward.map(([node, begin, end], i) => (
      {begin, end, title: `backward of ${step.name(node)}`, kind: i % 2 ? 'op odd' : 'op', label: ''}));
    const messages = rank.buckets.map(({begin, end}, number) => (
      {begin, end, title: `all-reduce of bucket ${number}`, kind: 'message', label: String(number)}));
    const lookups = rank.lookups.map(({begin, end, name}) => (
      {begin, end, title: `lookups of embedding tables: ${name}`, kind: 'lookups', label: ''}));
    const known = [...messages, ...lookups].filter(({begin, end}) => begin !== undefined && end >= this.ranks.start);
    return [{name: 'backward', bars: backward},
            ...packBars(known).map((bars, i) => ({name: i === 0 ? 'messages' : '', bars}))];
  }

  x(seconds) {
    const {start, end} = this.ranks, share = Math.max(0, (seconds - start) / (end - start));
    return LANES.left + share * (LANES.width - LANES.left - 1);
  }

  addLane(name, bars) {
    const middle = this.y + LANES.height / 2;
    if (name !== '') this.parts.push(svgElement('text', {x: 0, y: middle, class: 'name'}, name));
    this.parts.push(...bars.map((bar) => this.bar(bar, middle)));
    this.y += LANES.height + LANES.gap;
  }

  bar({begin, end, title, kind, label}, middle) {
    const x = this.x(begin), width = Math.max(1, this.x(end) - x);
    const hint = `${title}: ${this.ranks.since(begin)} to ${this.ranks.since(end)}`;
    const parts = [svgElement('title', {}, hint),
                   svgElement('rect', {x, width, y: middle - LANES.height / 2, height: LANES.height})];
    if (width > 12 * label.length) parts.push(svgElement('text', {x: x + 4, y: middle}, label));
    return svgElement('g', {class: kind}, ...parts);
  }

  addAxis() {
    const length = this.ranks.end - this.ranks.start, step = 10 ** Math.floor(Math.log10(length));
    const distance = [step / 5, step / 2, step, 2 * step].find((candidate) => length / candidate <= 8);
    for (let at = 0; at <= length; at += distance) {
      const x = this.x(this.ranks.start + at), last = x > LANES.width - 60;
      this.parts.unshift(svgElement('line', {x1: x, x2: x, y1: 0, y2: this.y, class: 'grid'}));
      if (!last) this.parts.push(svgElement('text', {x: x + 3, y: this.y + 8, class: 'time'}, timeText(at)));
    }
    this.y += 18;
  }
}

// What the page of several ranks shows beside the step of rank 0: an overview of the buckets, which of them leave after
// the backward of an op, and the gradients of all ranks with their sums.

function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}

class Buckets {
  // go(node) walks to the backward of a node, or of the op that makes a parameter's gradient final; open() shows the
  // overview.
  constructor(step, go, open) {
    Object.assign(this, {step, go, open, ranks: new Ranks(step)});
  }

  link(node) {
    return linkButton(this.step.name(node), () => this.go(node));
  }

  // "backward of linear (node 98)", with a link.
  place(node, otherwise) {
    return node === undefined ? [otherwise] : ['backward of ', this.link(node)];
  }

  // Lines of the step: buckets that leave, wait or arrive.
  lines(record) {
    const {ranks} = this, leaving = ranks.leavingAfter(record.node);
    return [
      ...leaving.map((number) => this.leavingLine(number)),
      ...ranks.waitingAfter(record).filter(([number]) => !leaving.includes(number))
          .map(([number, left]) => element('li', {}, `Bucket ${number} waits for ${counted(left, 'more gradient')}.`)),
      ...ranks.arrivingDuring(record.node).map(
          ([number, rank]) => element('li', {}, `The sums of bucket ${number} arrive on rank ${rank}.`)),
    ];
  }

  leavingLine(number) {
    const {ranks} = this, bucket = ranks.buckets[number];
    const what = `${ranks.bytes(bucket)}, ${counted(bucket.parts.length, 'parameter')}`;
    const table = ranks.hasTable(bucket) ? ' The gradients of lookups in the table follow after backward.' : '';
    return element('li', {}, linkButton(`Bucket ${number}`, this.open),
                   ` is complete and leaves for its all-reduce: ${what}.${table}`);
  }

  // [title, cards] of each parameter whose gradient becomes final.
  gradientGroups(record) {
    return record.final.map((node) => this.ranks.parameters[this.ranks.ofNode.get(node)])
        .filter((parameter) => parameter?.sum)
        .map((parameter) => [`The gradient of ${this.step.name(parameter.node)} on ${this.ranks.size} ranks`,
                             this.cards(parameter)]);
  }

  cards(parameter) {
    const gradients = this.ranks.gradients(parameter), sum = this.step.tensor(parameter.sum);
    const own = gradients.map((gradient, rank) => tensorView(gradient, `the gradient on rank ${rank}`, `rank ${rank}`));
    const explain = (row, column) => [this.sumView(gradients.map((gradient) => gradient.at(row, column)),
                                                  sum.at(row, column))];
    return [...own, tensorView(sum, 'the sum over the ranks', 'sum over the ranks, after the all-reduce', explain)];
  }

  sumView(values, stored) {
    const sum = values.reduce((all, value) => Math.fround(all + value));
    const result = compareSums(values, stored, this.step.setting.precision);
    const differs = `they differ by ${valueText(sum - stored)}`;
    const verdict = {exact: 'equal', rounded: 'equal up to rounding', differs};
    const {predictions} = this.ranks;
    const text = values.map((value, rank) => `rank ${rank}: ${valueText(value, 9)}`).join(' + ');
    return element('div', {},
                   element('p', {class: 'result'}, `${text} = ${valueText(sum, 9)}`),
                   element('p', {class: result === 'differs' ? 'disagrees' : 'agrees'},
                           `by the all-reduce ${valueText(stored, 9)}: ${verdict[result]}`),
                   element('p', {class: 'note'}, `The optimizer divides it by the ${predictions} predictions of all ` +
                       `ranks: ${valueText(stored / predictions)}.`));
  }

  overview() {
    return [
      element('h2', {}, `${counted(this.ranks.buckets.length, 'bucket')} on ${this.ranks.size} ranks`),
      element('p', {}, 'Backward finishes first the gradients of the parameters that were registered last. So the ' +
          'array of all gradients is cut into buckets from its end. Once the last gradient of a bucket is final, ' +
          'the bucket is summed over the ranks (all-reduce) while backward continues. A parameter may lie in ' +
          'several buckets.'),
      ...this.tableNotes(),
      this.rankFacts(),
      new BucketLanes(this.ranks).view,
      element('p', {class: 'note'}, 'Red: backward of an op. Blue: all-reduce of a bucket, with its number. Gray: ' +
          'numbers and sums of looked-up rows. Times count from the moment when the first rank begins backward. They ' +
          'are those of the fastest of five steps, and differ from those of the walk, which is rank 0 alone.'),
      this.table(),
      this.verdict(),
    ];
  }

  tableNotes() {
    if (!this.ranks.buckets.some((bucket) => this.ranks.hasTable(bucket))) return [];
    return [element('p', {}, 'Lookups in embedding tables are an exception: only the rows that some rank has looked ' +
        'up are exchanged, after backward, and added to the sums. So the bucket of a table leaves once the ' +
        'gradients of its other uses, such as the output layer, are final.')];
  }

  rankFacts() {
    const facts = this.ranks.ranks.map((rank, number) => {
      const wait = timeText(rank.end - rank.end_of_backward);
    const length = timeText(rank.end_of_backward - rank.backward[0][1]);
      return `rank ${number}: mean loss ${valueText(rank.loss === null ? NaN : rank.loss / rank.predictions)} over ` +
          `${counted(rank.predictions, 'prediction')}, backward ${length}, then all sums after ${wait}`;
    });
    return element('ul', {class: 'facts'}, ...facts.map((fact) => element('li', {}, fact)));
  }

  table() {
    const head = ['bucket', 'gradients', 'leaves after', ...this.ranks.ranks.map((_, rank) => `sums on rank ${rank}`)];
    const rows = this.ranks.buckets.map((bucket, number) => this.row(bucket, number));
    return element('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'table of buckets'},
                   element('table', {class: 'buckets'},
                           element('thead', {}, element('tr', {}, ...head.map(
                               (name) => element('th', {scope: 'col'}, name)))),
                           element('tbody', {}, ...rows)));
  }

  row(bucket, number) {
    const {ranks} = this, times = ranks.ranks.map((rank) => rank.buckets[number]);
    const leaves = times.map(({leaves: at}, rank) => `rank ${rank} at ${ranks.since(at)}`).join(', ');
    return element('tr', {}, element('th', {scope: 'row'}, String(number)),
                   element('td', {}, this.partsView(bucket)),
                   element('td', {}, ...this.place(bucket.node, 'no backward: some gradients stay zero'),
                           element('div', {class: 'note'}, leaves)),
                   ...times.map(({begin, end}, rank) => this.arrival(begin, end, ranks.ranks[rank])));
  }

  arrival(begin, end, rank) {
    if (end === undefined) return element('td', {}, 'time unknown');
    const {ranks} = this, node = ranks.nodeAt(rank, end);
    const where = node === undefined ? ['after backward'] : ['during the ', ...this.place(node)];
    return element('td', {}, `${ranks.since(end)}, `, ...where,
                   element('div', {class: 'note'}, `${timeText(end - begin)} on the way`));
  }

  partsView(bucket) {
    const parts = bucket.parts.map(
        ([parameter, begin, end]) => this.part(this.ranks.parameters[parameter], begin, end));
    const summary = `${this.ranks.bytes(bucket)}, ${counted(parts.length, 'parameter')}`;
    return element('details', {}, element('summary', {}, summary), element('ul', {}, ...parts));
  }

  part(parameter, begin, end) {
    const whole = end - begin === parameter.elements;
    const extent = whole ? '' : `, elements ${begin} to ${end - 1} of ${parameter.elements}`;
    const name = parameter.node === undefined ? parameter.name : this.link(parameter.node);
    return element('li', {}, name, extent);
  }

  verdict() {
    const {exact, rounded, differs} = this.ranks.checkAll(), all = exact + rounded + differs;
    const text = `The page has ${counted(all, 'element')} of the gradients of all ranks. Their sums are those of the ` +
        `all-reduce: ${exact} equal, ${rounded} equal up to rounding, ${differs} different.`;
    return element('p', {class: differs > 0 ? 'disagrees' : 'agrees'}, text);
  }
}
