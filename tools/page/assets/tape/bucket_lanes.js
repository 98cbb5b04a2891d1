// Backward and the messages of each rank in time, as bars.
'use strict';

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
