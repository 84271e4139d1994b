// The page of importance. It is for browsers without scripts; this script replaces it by the tab Analyse of the
// experiment.
import './frame.js';

location.replace(document.getElementById('analyse').href);
