// Browsers start no workers for pages that are opened as files. The search then runs in a hidden frame,
// which is given copies, later, as a worker would be.
if (location.protocol === "file:") {
  const send = (receive, data) => {
    const copy = structuredClone(data);
    setTimeout(() => receive({ data: copy }));
  };
  window.Worker = class {
    constructor(address) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => send((event) => this.onmessage?.(event), data);
      const script = inside.document.createElement("script");
      script.src = address;
      this.loaded = new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = reject;
      });
      this.loaded.catch(() => this.onerror?.(new Event("error")));
      inside.document.body.append(script);
    }

    postMessage(data) {
      send((event) => this.loaded.then(() => this.frame.contentWindow?.onmessage(event), () => {}), data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
