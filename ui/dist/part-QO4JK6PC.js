import{c as r}from"./part-JNAYWBY4.js";function f(e,l){let o=n=>{let s=/^[=+\-@\t\r]/.test(n)?`'${n}`:n;return/[",\n\r]/.test(s)?`"${s.replaceAll('"','""')}"`:s},c=e.curves.some(n=>n.n),i=e.view.x==="metric"?e.view.against:e.view.x,m=[(c?["group",o(i),"mean","mean - sd","mean + sd","runs"]:["run","id",o(i),"value","min","max"]).join(",")];for(let n of e.curves)n.x.forEach((s,a)=>{let t=[s,n.y[a],n.low?.[a]??"",n.high?.[a]??""];m.push((c?[o(n.name),...t,n.n[a]]:[o(n.name),n.id,...t]).join(","))});r(new Blob([`${m.join(`
`)}
`],{type:"text/csv"}),`${l}.csv`)}export{f as saveCSV};
