// The page of importance without scripts. With scripts, the tab Analyse of the experiment replaces it.
import './frame.js';

location.replace(document.getElementById('analyse').href);
