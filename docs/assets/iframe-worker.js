// Browsers start no workers for pages that are opened as files. The search then runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(address) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.onmessage?.({ data });
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
      this.loaded.then(() => this.frame.contentWindow?.onmessage({ data }), () => {});
    }

    terminate() {
      this.frame.remove();
    }
  };
}
