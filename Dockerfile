# docker build -t equipoise . && docker run --rm -v "$PWD/runs:/data/runs" -v equipoise-cache:/cache equipoise audit
FROM python:3.11-slim-bookworm AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir build==1.3.0 && python -m build --wheel --outdir /wheels

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="Equipoise" \
      org.opencontainers.image.licenses="Apache-2.0"
# The lock file names the versions that are tested together. For a GPU, install another build of torch on top.
COPY requirements.lock /tmp/requirements.lock
COPY --from=wheel /wheels /tmp/wheels
RUN pip install --no-cache-dir --constraint /tmp/requirements.lock "$(ls /tmp/wheels/*.whl)[figures,trackers]" \
    && rm -rf /tmp/wheels /tmp/requirements.lock \
    && useradd --create-home --uid 1000 equipoise \
    && mkdir -p /data /cache \
    && chown equipoise /data /cache
USER 1000
ENV EQUIPOISE_CACHE=/cache \
    HF_HOME=/cache/huggingface \
    MPLCONFIGDIR=/tmp/matplotlib
WORKDIR /data
VOLUME ["/data", "/cache"]
ENTRYPOINT ["equipoise"]
CMD ["--help"]
