# ipybox. Targets: `default` (last, what `docker build .` makes), `slim`, `science`, `binary` (the executable alone),
# `unit-musl`.
# ./docker-build.sh chooses the base image and hands in an extra CA; docs/building.md tells what each stage is for.
# No "# syntax=" line: it would be pulled from a registry, and Docker 20.10 with DOCKER_BUILDKIT=1 knows all of this.
ARG BASE_IMAGE=debian:trixie-slim
# What compiles, where BASE_IMAGE is of another architecture.
ARG TOOLS_IMAGE=${BASE_IMAGE}

# --- tools: what compiling needs; nothing of it reaches the image ---
FROM --platform=$BUILDPLATFORM ${TOOLS_IMAGE} AS tools
RUN apt-get update \
 && apt-get install -y --no-install-recommends binutils bzip2 ca-certificates curl file make patch pkgconf python3-venv xz-utils \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
ENV PATH=/src/build/tools/bin:$PATH

COPY third_party/tools.sh third_party/tools.txt third_party/with-ca third_party/again third_party/
RUN --mount=type=secret,id=ca third_party/with-ca third_party/tools.sh

# --- deps: the foreign libraries, built again only when third_party changes ---
FROM tools AS deps
# x86_64 or aarch64; empty is the machine's own.
ARG MUSL_ARCH
# The archives may have been put here by `third_party/fetch --local`; otherwise build.sh downloads them.
COPY third_party/source[s] third_party/sources/
COPY third_party/PINS third_party/build.sh third_party/fetch third_party/sha256_blocks.c third_party/
RUN --mount=type=secret,id=ca --mount=type=cache,id=ipybox-zig,target=/src/build/zig-cache \
    third_party/with-ca third_party/build.sh "${MUSL_ARCH:-$(uname -m)}-linux-musl" && rm -rf third_party/sources

# --- build: the binary. The cache is keyed by content (zig's own), so it cannot serve a stale object ---
FROM deps AS build
ARG MUSL_ARCH
COPY meson.build meson.options ./
COPY toolchain/ toolchain/
COPY src/ src/
COPY entrypoint/ entrypoint/
RUN --mount=type=cache,id=ipybox-zig,target=/src/build/zig-cache \
    meson setup build/release --cross-file "toolchain/zig-musl-${MUSL_ARCH:-$(uname -m)}.ini" -Dtests=false \
 && meson compile -C build/release \
 && file build/release/entrypoint/ipybox | tee /dev/stderr | grep -q 'static-pie linked, stripped'

# --- console: the page for a browser, bundled of npm's packages (package-lock.json has their hashes) ---
FROM tools AS console
COPY third_party/npm.txt third_party/
RUN --mount=type=secret,id=ca \
    apt-get update \
 && apt-get install -y --no-install-recommends nodejs \
 && rm -rf /var/lib/apt/lists/* \
 && third_party/with-ca third_party/again corepack prepare "$(grep -v '^#' third_party/npm.txt)" --activate \
 && corepack enable npm
WORKDIR /src/src/front/console/app
COPY src/front/console/app/package.json src/front/console/app/package-lock.json ./
RUN --mount=type=secret,id=ca /src/third_party/with-ca npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
COPY src/front/console/app/ ./
RUN npx tsc -p . && node build.mjs /console && chmod -R a+rX /console

FROM scratch AS binary
COPY --from=build /src/build/release/entrypoint/ipybox /ipybox

# --- unit-musl: the unit tests and fuzz corpora in the release build; `docker run` of it runs them ---
FROM deps AS unit-musl
COPY meson.build meson.options ./
COPY toolchain/ toolchain/
COPY third_party/acutest.h third_party/
COPY src/ src/
COPY entrypoint/ entrypoint/
COPY tests/ tests/
COPY bench/ bench/
RUN --mount=type=cache,id=ipybox-zig,target=/src/build/zig-cache \
    meson setup build/unit --cross-file "toolchain/zig-musl-$(uname -m).ini" && meson compile -C build/unit
CMD ["sh", "-c", "exec meson test -C build/unit --no-rebuild --num-processes $((2 * $(nproc))) --print-errorlogs"]

# --- debs: Debian's packages as third_party/debian.lock names them, for a release; else just the way to install some ---
FROM scratch AS debs
# amd64 or arm64, where `third_party/debian fetch` has brought them; empty takes what the mirror has today.
ARG DEBS
COPY --chmod=0755 third_party/install-debs /install
COPY third_party/deb[s]/${DEBS:-none}/* /
# Another value executes once more what installs from here, and what follows.
ARG AGAIN
COPY third_party/install-debs /again-${AGAIN}

# --- python: Debian's Python and the locked packages, on a root filesystem without documentation ---
FROM ${BASE_IMAGE} AS python
RUN --mount=type=bind,from=debs,target=/debs \
    printf 'path-exclude=/usr/share/%s/*\n' doc info locale man > /etc/dpkg/dpkg.cfg.d/no-docs \
 && printf 'path-include=/usr/share/doc/*/copyright\n' >> /etc/dpkg/dpkg.cfg.d/no-docs \
 && /debs/install --upgrade ca-certificates python3 python3-venv tzdata \
 && find /usr/share/doc -mindepth 1 ! -type d ! -name copyright -delete \
 && find /usr/share/doc -mindepth 1 -type d -empty -delete \
 && rm -rf /usr/share/info/* /usr/share/locale/* /usr/share/man/*
COPY third_party/with-ca third_party/again /tmp/
COPY third_party/python/requirements.txt /tmp/
# EXTERNALLY-MANAGED would refuse the user's own `pip install`. The .pyc are unchecked-hash: valid for every uid, on a
# read-only root and whatever happens to the times of the files. What a process has compiled before shows in them: each gets
# the same files in every build. No program here needs to be set-uid (su, mount, ...).
RUN --mount=type=secret,id=ca \
    rm -f /usr/lib/python3*/EXTERNALLY-MANAGED \
 && python3 -m venv /tmp/venv \
 && /tmp/with-ca /tmp/again /tmp/venv/bin/pip --python /usr/bin/python3 install -q --no-cache-dir --no-compile \
        --no-deps --only-binary :all: --require-hashes --root-user-action ignore -r /tmp/requirements.txt \
 && cd /usr/local/lib/python3*/dist-packages \
 && find . -type d \( -name tests -o -name testing_refleaks -o -path ./tornado/test \) -prune -exec rm -rf {} + \
 && find . -name '*.py' -print0 | sort -z | xargs -0 -n 200 -P "$(nproc)" \
        python3 -m compileall -q -o 0 --invalidation-mode unchecked-hash \
 && find / -xdev -perm /6000 -type f -exec chmod a-s {} + \
 && ln -s python3 /usr/bin/python \
 && echo 'ipybox-server:x:731:65534:ipybox, the server:/nonexistent:/usr/sbin/nologin' >> /etc/passwd \
 && mkdir -p /home/ipybox /app/workspace /run/ipybox /var/lib/ipybox /var/log/ipybox /opt/ipybox/home \
 && chmod 0555 /opt/ipybox/home \
 && chown 731 /var/log/ipybox \
 && chmod 1777 /home/ipybox /app/workspace /run/ipybox /var/lib/ipybox \
 && rm -rf /tmp/* /root/.cache

# --- wheel: the Python package with the appliance in it, one for MUSL_ARCH and one for any machine ---
FROM python AS wheel
COPY third_party/with-ca third_party/again third_party/python/wheel.txt /tmp/
RUN --mount=type=secret,id=ca \
    cd /tmp && ./with-ca ./again python3 -m pip install -q --no-cache-dir --no-compile --no-deps --only-binary :all: \
        --require-hashes --root-user-action ignore -r wheel.txt
WORKDIR /src/sdk
COPY LICENSE /src/sdk/
COPY rootfs/opt/ipybox/ /src/rootfs/opt/ipybox/
COPY --from=build --chmod=0755 /src/build/release/entrypoint/ipybox /binary/
COPY --from=build --chmod=0644 /src/build/release/src/opens.so /src/build/release/src/forks.so /binary/
COPY --from=console /console/ /binary/console/
COPY sdk/ /src/sdk/
ARG MUSL_ARCH
# Another value makes them once more.
ARG WHEEL_AGAIN
# Reproducible: the times in it are this one.
ENV SOURCE_DATE_EPOCH=1700000000
RUN find /src -name __pycache__ -prune -exec rm -rf {} + \
 && python3 -m hatchling build -t wheel -d /dist \
 && IPYBOX_WHEEL_BINARY=/binary IPYBOX_WHEEL_MACHINE="${MUSL_ARCH:-$(uname -m)}" \
    python3 -m hatchling build -t wheel -d /dist

FROM scratch AS dist
COPY --from=wheel /dist/ /

# --- overlay: rootfs/ as it goes onto /, its Python compiled like the packages ---
FROM python AS overlay
COPY rootfs/ /overlay/
COPY sdk/ipybox/ /overlay/opt/ipybox/python/ipybox/
RUN python3 -m compileall -q -o 0 --invalidation-mode unchecked-hash -s /overlay -p / /overlay

# --- base: the python stage in one layer, with all that both images say about themselves ---
FROM scratch AS base
COPY --from=python / /
ARG UID=1000
ARG GID=1000
# No HOME, and a PATH of folders that no cell can write to: both are root's, too, in `docker exec`. Init sets those of the
# identity (entrypoint/identity/environment.h).
ENV IPYBOX_WORKSPACE=/app/workspace \
    LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    IPYBOX_DEFAULT_UID=${UID} \
    IPYBOX_DEFAULT_GID=${GID}
LABEL org.opencontainers.image.title="ipybox" \
      org.opencontainers.image.description="Python code execution for MCP clients: IPython kernels behind one small static server" \
      org.opencontainers.image.version="0.10.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/gradion-ai/ipybox" \
      org.opencontainers.image.url="https://github.com/gradion-ai/ipybox" \
      org.opencontainers.image.documentation="https://github.com/gradion-ai/ipybox/tree/main/docs" \
      io.modelcontextprotocol.server.name="io.github.gradion-ai/ipybox"
WORKDIR /app/workspace
# Starts as root and becomes the owner of the workspace (or any --user): no USER line on purpose.
ENTRYPOINT ["/usr/local/bin/ipybox", "init"]
STOPSIGNAL SIGTERM
# The HTTP API and the kernel gateway, where the container is started without standard input. Who publishes all ports of an
# image (docker run -P, frameworks) finds them here.
EXPOSE 8080 8888
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s CMD ["/usr/local/bin/ipybox", "health"]

# --- slim: Python, kernel, gateway ---
FROM base AS slim
COPY --from=overlay /overlay/ /
# Who cannot read a program cannot read its processes either: health checks and commands of `docker exec` have the
# environment of the container, and with --user the uid of cells.
COPY --from=build --chmod=0644 /src/build/release/src/opens.so /src/build/release/src/forks.so /usr/lib/ipybox/
COPY --from=console /console/ /usr/lib/ipybox/console/
COPY --from=build --chmod=0644 /src/build/release/entrypoint/libnss_ipybox.so.2 /usr/lib/libnss_ipybox.so.2
COPY --from=build --chmod=0711 /src/build/release/entrypoint/ipybox /usr/local/bin/ipybox

# --- extras: what uvx, npx and git+https MCP servers need, and the OpenMP library that wheels expect of the system ---
FROM base AS extras
COPY third_party/with-ca third_party/again third_party/npm.txt third_party/python/uv.txt /tmp/
RUN --mount=type=secret,id=ca --mount=type=bind,from=debs,target=/debs \
    /debs/install git libgomp1 nodejs \
 && cd /tmp \
 && ./with-ca ./again python3 -m pip install -q --no-cache-dir --no-compile --no-deps --only-binary :all: \
        --require-hashes --root-user-action ignore -r uv.txt \
 && python3 -m compileall -q -o 0 --invalidation-mode unchecked-hash /usr/local/lib/python3*/dist-packages/uv \
 && export COREPACK_HOME=/tmp/work/corepack HOME=/tmp/work \
 && ./with-ca ./again corepack prepare "$(grep -v '^#' npm.txt)" \
 && mkdir -p /usr/local/lib/node_modules \
 && mv "$COREPACK_HOME"/npm/* /usr/local/lib/node_modules/npm \
 && rm -rf /usr/local/lib/node_modules/npm/docs /usr/local/lib/node_modules/npm/man \
 && ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && npm --version && npx --version && uv --version \
 && ln -s /opt/ipybox/bin/uv /usr/local/sbin/uv \
 && rm -rf /tmp/*

# --- science: slim with the packages of data work, which cells and the template (IPYBOX_PRELOAD) import, and uv ---
FROM base AS science
COPY third_party/with-ca third_party/again third_party/python/uv.txt third_party/python/science.txt /tmp/
# Only what is new is compiled: what is there already would be in the image twice.
RUN --mount=type=secret,id=ca --mount=type=bind,from=debs,target=/debs \
    /debs/install fonts-dejavu-core fonts-liberation libgomp1 \
 && cd /tmp && touch before \
 && ./with-ca ./again python3 -m pip install -q --no-cache-dir --no-compile --no-deps --only-binary :all: \
        --require-hashes --root-user-action ignore -r uv.txt -r science.txt \
 && cd /usr/local/lib/python3*/dist-packages \
 && find . -type d -name tests -cnewer /tmp/before -prune -exec rm -rf {} + \
 && rm -rf pyarrow/include \
 && find . -name '*.py' -cnewer /tmp/before -print0 | sort -z | xargs -0 -n 200 -P "$(nproc)" \
        python3 -m compileall -q -o 0 --invalidation-mode unchecked-hash \
 && ln -s /opt/ipybox/bin/uv /usr/local/sbin/uv \
 && rm -rf /tmp/*
COPY --from=overlay /overlay/ /
COPY --from=build --chmod=0644 /src/build/release/src/opens.so /src/build/release/src/forks.so /usr/lib/ipybox/
COPY --from=console /console/ /usr/lib/ipybox/console/
COPY --from=build --chmod=0711 /src/build/release/entrypoint/ipybox /usr/local/bin/ipybox

# --- default ---
FROM extras AS default
COPY --from=overlay /overlay/ /
COPY --from=build --chmod=0644 /src/build/release/src/opens.so /src/build/release/src/forks.so /usr/lib/ipybox/
COPY --from=console /console/ /usr/lib/ipybox/console/
COPY --from=build --chmod=0644 /src/build/release/entrypoint/libnss_ipybox.so.2 /usr/lib/libnss_ipybox.so.2
COPY --from=build --chmod=0711 /src/build/release/entrypoint/ipybox /usr/local/bin/ipybox

# --- nonroot: default for clusters that want to see a uid in the image (runAsNonRoot), and for gVisor, which runs no program
# that its user may not read. Without a health check, for that would be a process with the tokens of the container's
# environment that cells of the same uid can read: Kubernetes asks /readyz and /livez.
FROM default AS nonroot
COPY --from=build --chmod=0755 /src/build/release/entrypoint/ipybox /usr/local/bin/ipybox
ARG UID=1000
ARG GID=1000
RUN chown ${UID}:${GID} /app/workspace
USER ${UID}:${GID}
HEALTHCHECK NONE

# --- what is built where no target is named ---
FROM default
