// A page with forms that change a part of it.
import './frame.js';
import './inplace.js';
