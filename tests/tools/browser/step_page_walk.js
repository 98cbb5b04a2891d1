// Walks through a page of gyre inspect page.
'use strict';

// Searches for an op, and in vain; then walks, and shows the buckets.
function testPage(page) {
  for (const text of ['linear', 'no such op', '']) {
    byId('search').value = text;
    byId('search').dispatchEvent(new Event('input'));
    byId('search').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}));
  }
  const counts = new WalkCounts();
  walkAll(page.walk, document, counts);
  page.showBuckets();
  counts.numbers.buckets = document.querySelectorAll('.buckets tbody tr').length;
  counts.numbers.disagreements += document.querySelectorAll('.buckets .disagrees').length;
  counts.publish();
}

testPage(page);
