// Everything here is an addition: without it each page works by links and forms.
"use strict";
