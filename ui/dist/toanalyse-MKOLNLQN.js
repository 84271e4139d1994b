import"./part-UGZBLAA2.js";import"./part-PLCOXVQE.js";location.replace(document.getElementById("analyse").href);
