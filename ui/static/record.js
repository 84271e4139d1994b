// The script of pages with forms that change a part of the page.
import './frame.js';
import './inplace.js';
