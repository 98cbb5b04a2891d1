// Checks a page of gyre report as it opens, and with everything open and a point selected in every chart.
'use strict';

const reportChecks = new PageChecks();
reportChecks.check('as it opens');
for (const details of document.querySelectorAll('details')) details.open = true;
for (const plot of document.querySelectorAll('.plot')) plot.dispatchEvent(new KeyboardEvent('keydown', {key: 'Home'}));
reportChecks.check('open');
