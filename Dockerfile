# The image contains one static binary and an empty folder for the data. It has no shell and no packages.
#
#   docker build -t tracker .
#   docker run -p 127.0.0.1:9000:9000 -p 127.0.0.1:9001:9001 -v tracker:/data tracker

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w" -o /out/tracker . \
    && mkdir -m 0770 /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/tracker /usr/bin/tracker
# Any user of the group 0 can write the data, so that the image also runs under the changing user ids of OpenShift.
COPY --from=build --chown=65532:0 /out/data /data
USER 65532:0
WORKDIR /data
VOLUME /data
# Inside the container the ports listen on all addresses. Only ports that -p publishes can be reached from outside.
ENV SERVICE_HOST=0.0.0.0 SERVICE_UI_HOST=0.0.0.0
EXPOSE 9000 9001
HEALTHCHECK --interval=30s --timeout=6s --start-period=5s CMD ["/usr/bin/tracker", "health"]
ENTRYPOINT ["/usr/bin/tracker"]
CMD ["serve"]
