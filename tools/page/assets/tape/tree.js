// The map: modules, ops and parameters as a tree (the WAI-ARIA pattern) with each one's share of the step.
'use strict';

const BARS = [
  ['time', 'seconds', timeText],
  ['FLOPs', 'flops', (flops) => countText(flops, 'FLOP')],
  ['memory', 'saved_bytes', memoryText],
];

function shareOf(item, whole, field) {
  return whole[field] > 0 ? item.cost[field] / whole[field] : 0;
}

function barsView(item, whole) {
  if (!item.cost) return element('span', {class: 'bars'});
  return element('span', {class: 'bars'}, ...BARS.map(([name, field, text]) => {
    const share = shareOf(item, whole, field);
    return element('span', {class: `bar ${field}`, title: `${name}: ${text(item.cost[field])}, ${percentText(share)}`},
                   element('span', {style: `width: ${100 * share}%`}));
  }));
}

function itemName(item, whole) {
  if (!item.cost) return `parameter ${item.label}`;
  const shares = BARS.map(([name, field]) => `${percentText(shareOf(item, whole, field))} of the ${name}`);
  return `${item.label}: ${shares.join(', ')}`;
}

class Tree {
  // choose(item) is called for the item that the user activates.
  constructor(list, root, whole, choose) {
    Object.assign(this, {list, whole, choose, items: [], ops: new Map(), opened: new Set()});
    this.add(root, list, 1, null);
    this.focusable = root;
    root.row.tabIndex = 0;
    this.open(root, true);
    list.addEventListener('keydown', (event) => this.key(event));
  }

  add(item, list, level, parent) {
    Object.assign(item, {parent, matches: true});
    this.items.push(item);
    if (item.kind === 'op') this.ops.set(item.node, item);
    item.line = element('span', {class: 'row', style: `padding-left: ${0.9 * (level - 1)}rem`},
                        element('span', {class: 'toggle', 'aria-hidden': 'true'}),
                        element('span', {class: 'label', title: item.label}, item.label), barsView(item, this.whole));
    item.line.addEventListener('click', (event) => this.click(event, item));
    item.row = element('li', {role: 'treeitem', class: item.kind, tabindex: -1, 'aria-level': level,
                              'aria-label': itemName(item, this.whole), 'aria-selected': 'false'}, item.line);
    list.append(item.row);
    if (item.children.length > 0) this.addChildren(item, level + 1);
  }

  addChildren(item, level) {
    item.group = element('ul', {role: 'group', hidden: ''});
    item.row.append(item.group);
    item.row.setAttribute('aria-expanded', 'false');
    for (const child of item.children) this.add(child, item.group, level, item);
  }

  click(event, item) {
    this.focus(item);
    if (item.group && (item.kind === 'module' || event.target.classList.contains('toggle'))) {
      this.toggle(item);
    } else {
      this.choose(item);
    }
  }

  isOpen(item) {
    return item.group !== undefined && !item.group.hidden;
  }

  open(item, isOpen) {
    if (!item.group) return;
    item.group.hidden = !isOpen;
    item.row.setAttribute('aria-expanded', String(isOpen));
  }

  toggle(item) {
    this.opened.delete(item);
    this.open(item, !this.isOpen(item));
  }

  setTabStop(item) {
    this.focusable.row.tabIndex = -1;
    this.focusable = item;
    item.row.tabIndex = 0;
  }

  // Moves a tab stop that cannot be seen any more to the lit op or else to the first item, with the focus.
  keepTabStop() {
    const visible = this.visible();
    if (visible.length === 0 || visible.includes(this.focusable)) return;
    const hadFocus = this.list.contains(document.activeElement);
    this.setTabStop(visible.includes(this.lit) ? this.lit : visible[0]);
    if (hadFocus) this.focusable.row.focus({preventScroll: true});
  }

  focus(item) {
    this.setTabStop(item);
    item.row.focus({preventScroll: true});
    item.line.scrollIntoView({block: 'nearest'});
  }

  // The items that can be seen, from top to bottom.
  visible() {
    return this.items.filter((item) => {
      for (let above = item.parent; above; above = above.parent) if (!this.isOpen(above)) return false;
      return item.matches;
    });
  }

  key(event) {
    const item = this.focusable, visible = this.visible(), at = visible.indexOf(item);
    const actions = {
      ArrowDown: () => visible[at + 1],
      ArrowUp: () => visible[at - 1],
      Home: () => visible[0],
      End: () => visible[visible.length - 1],
      ArrowRight: () => this.isOpen(item) ? visible[at + 1] : this.open(item, true),
      ArrowLeft: () => this.isOpen(item) ? this.open(item, false) : item.parent,
      Enter: () => this.choose(item),
      ' ': () => this.choose(item),
    };
    if (!actions[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = actions[event.key]();
    if (next) this.focus(next);
  }

  // Lights the op. Opens the modules around it, and closes those that were opened for an earlier op.
  light(node) {
    this.lit?.row.setAttribute('aria-selected', 'false');
    this.lit = this.ops.get(node);
    const around = new Set();
    for (let above = this.lit.parent; above; above = above.parent) around.add(above);
    for (const item of this.opened) if (!around.has(item)) this.open(item, false);
    this.opened = new Set([...this.opened].filter((item) => around.has(item)));
    for (const item of around) {
      if (!this.isOpen(item)) this.opened.add(item);
      this.open(item, true);
    }
    this.lit.row.setAttribute('aria-selected', 'true');
    this.lit.line.scrollIntoView({block: 'nearest'});
    this.keepTabStop();
  }

  // Shows only the items whose names contain the text, what is in them, and the modules around them; all for an empty
  // text. Returns the number of items found.
  search(text) {
    const wanted = text.trim().toLowerCase();
    const found = this.show(this.items[0], wanted, false);
    if (wanted === '' && this.lit) this.light(this.lit.node);
    this.keepTabStop();
    return found;
  }

  // inside: the name of an item around this one contains the text. Returns the number of items found here and below.
  show(item, wanted, inside) {
    const name = item.kind === 'module' ? item.path : item.label;
    const own = wanted !== '' && name.toLowerCase().includes(wanted);
    const below = item.children.reduce((sum, child) => sum + this.show(child, wanted, inside || own), 0);
    item.matches = wanted === '' || own || inside || below > 0;
    item.row.hidden = !item.matches;
    item.row.classList.toggle('found', own);
    this.open(item, wanted === '' ? item.parent === null : below > 0);
    return below + (own ? 1 : 0);
  }
}
