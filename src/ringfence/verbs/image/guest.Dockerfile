# The guest image: what libraries.Dockerfile made, and Ringfence itself. The source comes last, so that after a change
# to it only these few files are copied and compiled again. `ringfence image build` makes the context.
ARG LIBRARIES
FROM ${LIBRARIES}
# The first step, so that no image between here and the end can be taken for the libraries'.
LABEL ringfence=guest
HEALTHCHECK NONE
WORKDIR /job
ENTRYPOINT ["/opt/ringfence/bin/python", "-I", "-m", "ringfence.sandbox.docker.keeper"]
# What is mounted there in use takes over the mode on some engines, and not the user.
RUN ["/opt/ringfence/bin/python", "-I", "-c", "import os; [os.chmod(place, 0o777) for place in ('/job', '/box')]"]
ARG VERSION
ARG SOURCE
COPY source/ /opt/ringfence/source/
# The root is read-only in use, so what is not compiled here would be compiled in every run. Unchecked: nor is it
# looked at again.
RUN ["/opt/ringfence/bin/python", "-I", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "/opt/ringfence/source"]
LABEL ringfence.version=${VERSION} ringfence.source=${SOURCE}
USER 65532:65532
