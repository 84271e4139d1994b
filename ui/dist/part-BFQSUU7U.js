var e=t=>t.type==="metric"?t.metrics[0]:`panel:${t.id}`,c=t=>t.slice(0,Math.max(0,t.indexOf("/")));export{e as a,c as b};
