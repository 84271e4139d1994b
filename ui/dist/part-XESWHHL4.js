import{a as T,b as R}from"./part-Q6ANIVT3.js";import{a as F}from"./part-JNAYWBY4.js";var x=10,S=1,A=.35,O=new Map([..."€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"].map((h,t)=>[h,[128,130,131,132,133,134,135,136,137,138,139,140,142,145,146,147,148,149,150,151,152,153,154,155,156,158,159][t]]));function P(h){let t="";for(let e of h){let s=e.codePointAt(0),n=O.get(e)??(s>=32&&s<127||s>=160&&s<=255?s:null);if(n===null)return null;t+=n.toString(16).padStart(2,"0")}return`<${t}>`}var f=h=>String(Number(h.toFixed(3)));function b(h){return h.startsWith("#")?[1,3,5].map(t=>Number.parseInt(h.slice(t,t+2),16)/255):(h.match(/[\d.]+/g)??[0,0,0]).slice(0,3).map(t=>Number(t)/255)}var l=h=>Uint8Array.from(h,t=>t.charCodeAt(0));async function C(h){let t=new Blob([h]).stream().pipeThrough(new CompressionStream("deflate"));return new Uint8Array(await new Response(t).arrayBuffer())}var B=class{constructor(t,e){Object.assign(this,{width:t,height:e}),this.commands=[],this.alphas=[],this.images=[]}add(...t){this.commands.push(t.map(e=>typeof e=="number"?f(e):e).join(" "))}alpha(t){this.alphas.includes(t)||this.alphas.push(t),this.add(`/A${this.alphas.indexOf(t)} gs`)}path(t){t.forEach(([e,s],n)=>this.add(e,this.height-s,n?"l":"m"))}clip(t,e,s,n,i){this.add("q",t,this.height-e-n,s,n,"re W n"),i(),this.add("Q")}line(t,{color:e,width:s,dash:n=[],alpha:i=1}){t.length<2||(this.alpha(i),this.add(...b(e),"RG",s,"w",1,"j",`[${n.map(f).join(" ")}] 0 d`),this.path(t),this.add("S"))}area(t,{color:e,alpha:s=1}){t.length<3||(this.alpha(s),this.add(...b(e),"rg"),this.path(t),this.add("h f"))}text(t,e,s,{size:n,color:i,anchor:d="start",up:g=!1}){this.alpha(1),this.add(...b(i),"rg");let p=P(s),c=p===null&&this.picture(s,n),r=c?c.width/x:R(s,n),u={start:0,middle:r/2,end:r}[d],[a,o]=g?[0,1]:[1,0],[$,m]=[t-u*a,this.height-e-u*o];if(!c){this.add("BT /F1",n,"Tf",a,o,-o,a,$,m,"Tm",p,"Tj ET");return}let[w,y,j]=[c.width/x,c.height/x,A*n];this.add("q",w*a,w*o,-y*o,y*a,$+j*o,m-j*a,"cm"),this.add(`/I${this.images.indexOf(c)} Do Q`)}picture(t,e){let s=`${e*x}px ${T}`,n=F("canvas").getContext("2d",{willReadFrequently:!0});n.font=s;let i=Math.max(8,Math.ceil(n.measureText(t).width/8)*8),d=Math.ceil((S+A)*e*x);Object.assign(n.canvas,{width:i,height:d}),n.font=s,n.fillText(t,0,S*e*x);let{data:g}=n.getImageData(0,0,i,d),p=new Uint8Array(i/8*d).fill(255);for(let r=0;r<i*d;r+=1)g[4*r+3]>127&&(p[r>>3]&=~(128>>(r&7)));let c={width:i,height:d,bits:p};return this.images.push(c),c}async blob(){let t=[],e=[],s=0,n=a=>{t.push(a),s+=a.length},i=(a,o)=>{e.push(s),n(l(`${e.length} 0 obj
${a}
`)),o&&(n(l(`stream
`)),n(o),n(l(`
endstream
`))),n(l(`endobj
`))},d=6,g=this.images.map((a,o)=>`/I${o} ${d+o} 0 R`).join(" "),p=this.alphas.map((a,o)=>`/A${o} << /CA ${f(a)} /ca ${f(a)} >>`).join(" ");n(l(`%PDF-1.4
%âãÏÓ
`)),i("<< /Type /Catalog /Pages 2 0 R >>"),i("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),i(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${f(this.width)} ${f(this.height)}] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /ExtGState << ${p} >> /XObject << ${g} >> >> >>`);let c=await C(l(this.commands.join(`
`)));i(`<< /Length ${c.length} /Filter /FlateDecode >>`,c),i("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");for(let{width:a,height:o,bits:$}of this.images){let m=await C($);i(`<< /Type /XObject /Subtype /Image /Width ${a} /Height ${o} /ImageMask true /BitsPerComponent 1 /Length ${m.length} /Filter /FlateDecode >>`,m)}let r=s,u=e.map(a=>`${String(a).padStart(10,"0")} 00000 n 
`).join("");return n(l(`xref
0 ${e.length+1}
0000000000 65535 f 
${u}`)),n(l(`trailer
<< /Size ${e.length+1} /Root 1 0 R >>
startxref
${r}
%%EOF
`)),new Blob(t,{type:"application/pdf"})}};export{B as PdfPen,P as encode};
