"""Adapters: implementations of the ports for models, files, processes and the machine."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.adapters.capture.folder import CaptureFolder
    from everloop.adapters.capture.transcript_turns import (
        detect_transcript_feedback,
        newest_user_turns,
    )
    from everloop.adapters.claude_code_config import (
        CLAUDE_CODE_HOST,
        CONTEXT_CHARACTERS_MAX,
        ConfigChange,
        ConfigFiles,
        config_files,
        plan_install,
        plan_uninstall,
    )
    from everloop.adapters.exports.open_export import OpenedExport, open_export
    from everloop.adapters.exports.zip_archive import zip_threads
    from everloop.adapters.files.key_file import write_keys
    from everloop.adapters.files.loop_engine_home import read_loop_engine_home
    from everloop.adapters.files.markdown_folder import PAGE_SUFFIX, MarkdownFolder, page_name
    from everloop.adapters.files.packs import read_pack, read_pack_folder, write_skill
    from everloop.adapters.files.settings_file import remove_setting, write_setting
    from everloop.adapters.files.store import CopyResult, FileStore, copy_files, plain_name
    from everloop.adapters.machine_checks import SystemMachine
    from everloop.adapters.models.discovery import (
        HOME_SERVERS,
        KEYED_SERVICES,
        DiscoveredModel,
        choose_model,
        discover_models,
        service_of,
        with_consent,
    )
    from everloop.adapters.models.list_models import list_models, normalise_address
    from everloop.adapters.models.offline import OFFLINE_MODEL
    from everloop.adapters.models.provider import ModelService
    from everloop.adapters.network import lan_address
    from everloop.adapters.observability.json_logs import REQUEST_ID, JsonLogs
    from everloop.adapters.observability.metrics import Metrics
    from everloop.adapters.observability.otlp import Telemetry
    from everloop.adapters.os_service.service_control import (
        ServiceManager,
        plan_definition,
        platform_name,
        service_manager,
        show_output,
    )
    from everloop.adapters.processes.run_command import run_command
    from everloop.adapters.system import system_ports
    from everloop.adapters.twilio_signatures import SignatureCheck, socket_url
    from everloop.adapters.warehouse.bigquery import open_bigquery
    from everloop.adapters.warehouse.parquet import export_parquet, import_parquet
    from everloop.adapters.warehouse.parquet_folder import ParquetFolder

__all__ = [
    "CLAUDE_CODE_HOST",
    "CONTEXT_CHARACTERS_MAX",
    "HOME_SERVERS",
    "KEYED_SERVICES",
    "OFFLINE_MODEL",
    "PAGE_SUFFIX",
    "REQUEST_ID",
    "CaptureFolder",
    "ConfigChange",
    "ConfigFiles",
    "CopyResult",
    "DiscoveredModel",
    "FileStore",
    "JsonLogs",
    "MarkdownFolder",
    "Metrics",
    "ModelService",
    "OpenedExport",
    "ParquetFolder",
    "ServiceManager",
    "SignatureCheck",
    "SystemMachine",
    "Telemetry",
    "choose_model",
    "config_files",
    "copy_files",
    "detect_transcript_feedback",
    "discover_models",
    "export_parquet",
    "import_parquet",
    "lan_address",
    "list_models",
    "newest_user_turns",
    "normalise_address",
    "open_bigquery",
    "open_export",
    "page_name",
    "plain_name",
    "plan_definition",
    "plan_install",
    "plan_uninstall",
    "platform_name",
    "read_loop_engine_home",
    "read_pack",
    "read_pack_folder",
    "remove_setting",
    "run_command",
    "service_manager",
    "service_of",
    "show_output",
    "socket_url",
    "system_ports",
    "with_consent",
    "write_keys",
    "write_setting",
    "write_skill",
    "zip_threads",
]

__getattr__ = lazy_exports(__name__, __file__)
