import"./part-OXJPBNEB.js";import"./part-SRZPABA3.js";import"./part-WIY4BCT4.js";import"./part-PLCOXVQE.js";import"./part-JNAYWBY4.js";location.replace(document.getElementById("analyse").href);
