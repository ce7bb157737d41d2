# The lower half of the guest image: an interpreter and the libraries that programs find inside the fence.
# `ringfence image build` makes the context: prefix/ holds the libraries, unpacked for this interpreter, so nothing is
# downloaded in here and the base needs neither pip nor a network. Only python3 must be on its path.
ARG BASE=python:3.12-slim
FROM ${BASE}
USER 0:0
COPY prefix/ /opt/ringfence/
COPY prepare.py requirements.txt /opt/ringfence/build/
# Makes /opt/ringfence a virtual environment, compiles everything, takes setuid bits and caches away, tries the imports.
RUN ["python3", "-I", "/opt/ringfence/build/prepare.py", "make"]
# In one step, so that no image on the way here can be taken for this one.
ARG BASE_ID
ARG LIBRARIES
ARG PYTHON
ARG INTERPRETER
LABEL ringfence=libraries ringfence.base="${BASE_ID}" ringfence.libraries="${LIBRARIES}" \
    ringfence.python="${PYTHON}" ringfence.interpreter="${INTERPRETER}"
