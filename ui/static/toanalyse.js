// The page of importance. It is for browsers without scripts; this script replaces it with the Analyse tab of the
// experiment.
import './frame.js';

location.replace(document.getElementById('analyse').href);
